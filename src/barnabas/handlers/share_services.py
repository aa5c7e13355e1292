"""The services that share groups use; created with the first request that may be about one."""

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.handlers.context import ClientConnection
from barnabas.handlers.share_session import ShareSession, ShareSessions
from barnabas.share_partitions.share_partitions import SharePartitions

if TYPE_CHECKING:
    from barnabas.coordinator.share_coordinator import ShareCoordinator
    from barnabas.coordinator.share_groups import ShareGroups

logger = logging.getLogger(__name__)


class ShareServices:
    def __init__(
        self,
        groups: "ShareGroups",
        partitions: SharePartitions,
        sessions: ShareSessions,
        coordinator: "Callable[[], ShareCoordinator]",
    ) -> None:
        self.groups = groups
        self.partitions = partitions
        self.sessions = sessions
        self._coordinator = coordinator
        self._releasing: set[asyncio.Task[None]] = set()

    @property
    def coordinator(self) -> "ShareCoordinator":
        return self._coordinator()

    def attach(self, session: ShareSession, client: ClientConnection) -> None:
        """End the session when its connection closes."""
        if client.on_close is None:
            return
        on_close = client.on_close

        def end_session() -> None:
            task = asyncio.ensure_future(self.end(session))
            self._releasing.add(task)
            task.add_done_callback(self._releasing.discard)

        on_close[end_session] = None
        session.detach = lambda: on_close.pop(end_session, None)

    async def end(self, session: ShareSession) -> None:
        """Release the member's records. The last session of a group also frees the group's in-memory state."""
        if session.is_open:
            self.sessions.close(session.group_id, session.member_id)
        held = self.partitions.of_group(session.group_id)
        for failed in await asyncio.gather(
            *(partition.release(session.member_id) for partition in held), return_exceptions=True
        ):
            if isinstance(failed, BaseException):
                # The records are released when their locks time out.
                logger.info(
                    "could not release the records of %s of share group %s, which has left: %s",
                    session.member_id,
                    session.group_id,
                    failed,
                )
        if not self.sessions.has_members(session.group_id):
            self.partitions.forget_group(session.group_id)

    async def on_topics_deleted(self, topic_ids: set[uuid.UUID]) -> None:
        self.partitions.on_topics_deleted(topic_ids)
        await self.coordinator.on_topics_deleted(topic_ids)
        await self.groups.on_topics_deleted(topic_ids)

    async def close(self) -> None:
        if self._releasing:
            await asyncio.wait(self._releasing)
        await self.groups.close()
        await self.partitions.close()
