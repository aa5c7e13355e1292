"""What handlers call for share groups: uses the group coordinator and the share coordinator together.

The group coordinator stores the members and which partitions have a state; the share coordinator stores the states. The
first stores what it requests from the second before it does, and the result after, so that an interrupted request is
found and repeated.

The first heartbeat of a member is answered when the partitions that it subscribes to have their states, if that does
not take long. So it can fetch at once; in Kafka it gets its partitions with its second heartbeat, five seconds later.
"""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import partial
from typing import Final, Protocol, TypeVar

from barnabas.coordinator.core.decision import Decision
from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group.common.partitions import Partitions
from barnabas.coordinator.group.share.describe import describe_share_group
from barnabas.coordinator.group.share.heartbeat import HeartbeatOutcome, check_request, decide_share_heartbeat
from barnabas.coordinator.group.share.offsets import AlteredOffsets, decide_alter, decide_delete
from barnabas.coordinator.group.share.replay import known_group
from barnabas.coordinator.group.share.state_topics import (
    decide_deleted,
    decide_deleting,
    decide_initialized,
    decide_not_initialized,
    decide_topics_gone,
)
from barnabas.coordinator.group.store import GroupStore
from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.coordinator.share.shard import StateSummary
from barnabas.env import Clock
from barnabas.model.share import START_OFFSET_UNKNOWN, SharePartitionKey
from barnabas.wire.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    GroupIdNotFound,
    KafkaError,
    NonEmptyGroup,
    NotCoordinator,
)
from barnabas.wire.messages.share_group_describe import DescribedGroup
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

logger = logging.getLogger(__name__)

R = TypeVar("R")

JOIN_WAIT_MS: Final = 1_000
"""How long a heartbeat waits for states: well below the request timeouts of clients."""
RETRY_MS: Final = (5, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000)
"""Pauses between retries while the share coordinator is not available."""
_RETRIABLE: Final = (NotCoordinator, CoordinatorLoadInProgress, CoordinatorNotAvailable)


class ShareStates(Protocol):
    """The share coordinator."""

    async def initialize(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int) -> None: ...

    async def delete(self, key: SharePartitionKey) -> None: ...

    async def summary(self, key: SharePartitionKey) -> StateSummary: ...


class ShareGroups:
    def __init__(
        self,
        groups: Callable[[], GroupCoordinator],
        states: Callable[[], ShareStates],
        *,
        ensure_state_topic: Callable[[], Awaitable[None]],
        clock: Clock,
    ) -> None:
        self._groups = groups
        self._states = states
        self._ensure_state_topic = ensure_state_topic
        self._clock = clock
        self._initializing: set[asyncio.Task[None]] = set()

    # --- membership

    async def heartbeat(self, request: ShareGroupHeartbeatRequest, client: ClientInfo) -> ShareGroupHeartbeatResponse:
        check_request(request)
        outcome = await self._decide_heartbeat(request, client)
        if outcome.to_initialize:
            task = asyncio.ensure_future(self._initialize(request.group_id, outcome))
            self._initializing.add(task)
            task.add_done_callback(self._initializing.discard)
            if await self._finishes_in_time(task):
                outcome = await self._decide_heartbeat(request, client)
        return outcome.response

    async def _decide_heartbeat(self, request: ShareGroupHeartbeatRequest, client: ClientInfo) -> HeartbeatOutcome:
        return await self._groups().decide(
            request.group_id, lambda store, now: decide_share_heartbeat(store, request, client, now)
        )

    async def _finishes_in_time(self, task: "asyncio.Task[None]") -> bool:
        over = asyncio.Event()
        task.add_done_callback(lambda _: over.set())
        timer = self._clock.call_later(JOIN_WAIT_MS, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()
        return task.done()

    async def _initialize(self, group_id: str, outcome: HeartbeatOutcome) -> None:
        starts = {
            (topic_id, index): START_OFFSET_UNKNOWN
            for topic_id, indexes in outcome.to_initialize.items()
            for index in indexes
        }
        try:
            await self._initialize_all(group_id, starts, outcome.state_epoch)
        except KafkaError as error:
            logger.info("share group %s: initialising states failed and is tried again later: %s", group_id, error)

    async def _initialize_all(
        self, group_id: str, starts: dict[tuple[uuid.UUID, int], int], state_epoch: int
    ) -> dict[tuple[uuid.UUID, int], KafkaError]:
        """Returns the errors of those that failed."""
        await self._ensure_state_topic()
        failed: dict[tuple[uuid.UUID, int], KafkaError] = {}
        for (topic_id, index), start_offset in starts.items():
            key = SharePartitionKey(group_id, topic_id, index)
            try:
                await self._with_retries(
                    partial(self._states().initialize, key, state_epoch=state_epoch, start_offset=start_offset)
                )
            except KafkaError as error:
                logger.info("the state of %s cannot be initialised: %s", key, error)
                failed[topic_id, index] = error
        groups = self._groups()
        done = _partitions(place for place in starts if place not in failed)
        await groups.decide(group_id, lambda store, _: decide_initialized(store, group_id, done))
        if failed:
            await groups.decide(group_id, lambda store, _: decide_not_initialized(store, group_id, _partitions(failed)))
        return failed

    async def _with_retries(self, act: Callable[[], Awaitable[R]]) -> R:
        for delay_ms in RETRY_MS:
            try:
                return await act()
            except _RETRIABLE:
                pause = asyncio.Event()
                timer = self._clock.call_later(delay_ms, pause.set)
                try:
                    await pause.wait()
                finally:
                    timer.cancel()
        return await act()

    # --- administration

    async def describe(self, group_id: str) -> DescribedGroup:
        return await self._groups().ask(group_id, lambda store: describe_share_group(store, group_id))

    async def initialized(self, group_id: str) -> Partitions:
        """The partitions that have a state."""

        def ask(store: GroupStore) -> Partitions:
            group = known_group(store, group_id)
            if group is None:
                raise GroupIdNotFound(f"Group {group_id} not found.")
            return group.state_topics.initialized

        return await self._groups().ask(group_id, ask)

    async def summary(self, key: SharePartitionKey) -> StateSummary:
        return await self._with_retries(partial(self._states().summary, key))

    async def alter_offsets(
        self, group_id: str, starts: dict[tuple[uuid.UUID, int], int]
    ) -> dict[tuple[uuid.UUID, int], KafkaError]:
        """The group must have no members, and is created if needed. Returns the errors of those that failed."""
        altered: AlteredOffsets = await self._groups().decide(
            group_id, lambda store, now: decide_alter(store, group_id, starts, now)
        )
        return await self._initialize_all(group_id, starts, altered.state_epoch)

    async def delete_offsets(
        self, group_id: str, topic_ids: Collection[uuid.UUID]
    ) -> dict[uuid.UUID, KafkaError | None]:
        """The error of each topic, or None; topics without offsets are left out."""
        to_delete = await self._groups().decide(group_id, lambda store, _: decide_delete(store, group_id, topic_ids))
        return await self._delete_states(group_id, to_delete)

    async def _delete_states(self, group_id: str, to_delete: Partitions) -> dict[uuid.UUID, KafkaError | None]:
        outcomes: dict[uuid.UUID, KafkaError | None] = {}
        for topic_id, indexes in to_delete.items():
            outcomes[topic_id] = None
            for index in sorted(indexes):
                key = SharePartitionKey(group_id, topic_id, index)
                try:
                    await self._with_retries(partial(self._states().delete, key))
                except KafkaError as error:
                    outcomes[topic_id] = error
        deleted = [topic_id for topic_id, error in outcomes.items() if error is None]
        if deleted:
            await self._groups().decide(group_id, lambda store, _: decide_deleted(store, group_id, deleted))
        return outcomes

    async def delete_states(self, group_id: str) -> KafkaError | None:
        """Called before a group is deleted. None: it may be deleted, or is not a share group."""

        def decide(store: GroupStore) -> Decision[Partitions]:
            group = known_group(store, group_id)
            if group is None:
                return Decision({})
            if group.members:
                raise NonEmptyGroup(f"share group {group_id} has members; stop them first")
            topics = group.state_topics
            by_id = store.catalog.topics.by_id
            named = topics.initializing.keys() | topics.initialized.keys() | topics.deleting
            return decide_deleting(store, group, [topic_id for topic_id in named if topic_id in by_id])

        try:
            to_delete = await self._groups().decide(group_id, lambda store, _: decide(store))
            outcomes = await self._delete_states(group_id, to_delete)
        except KafkaError as error:
            return error
        return next((error for error in outcomes.values() if error is not None), None)

    async def on_topics_deleted(self, topic_ids: Collection[uuid.UUID]) -> None:
        await self._groups().decide_everywhere(lambda store, _: decide_topics_gone(store, topic_ids))

    async def close(self) -> None:
        for task in tuple(self._initializing):
            task.cancel()
        if self._initializing:
            await asyncio.wait(self._initializing)


def _partitions(places: Iterable[tuple[uuid.UUID, int]]) -> Partitions:
    found: dict[uuid.UUID, set[int]] = {}
    for topic_id, index in places:
        found.setdefault(topic_id, set()).add(index)
    return {topic_id: frozenset(indexes) for topic_id, indexes in found.items()}
