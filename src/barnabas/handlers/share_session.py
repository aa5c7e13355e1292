"""Share sessions: which partitions a member of a share group fetches from this broker, named once and then remembered.

    epoch 0      opens a session, and replaces an existing one
    epoch n > 0  continues it; the request names only partitions to add and to remove
    epoch -1     ends it, and releases the records that the member still holds

A session belongs to a member, and ends with the connection on which it was opened: the records of a killed consumer are
released at once, not when their locks time out.
"""

import uuid
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from barnabas.wire.errors import (
    InvalidRequest,
    InvalidShareSessionEpoch,
    ShareSessionLimitReached,
    ShareSessionNotFound,
)

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
EPOCH_MAX: Final = 2**31 - 1


class TopicIdPartition(NamedTuple):
    topic_id: uuid.UUID | None
    partition: int


class ShareSession:
    def __init__(self, group_id: str, member_id: str, partitions: Iterable[TopicIdPartition]) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.epoch = 1
        """The epoch that the next request must carry."""
        self.is_open = True
        self.partitions = dict.fromkeys(partitions)
        self.detach: Callable[[], None] = lambda: None
        """Removes the session's callback from its connection."""

    def rotated_partitions(self) -> list[TopicIdPartition]:
        """Starting with another partition each time, so that a busy one does not starve the others."""
        partitions = list(self.partitions)
        start = self.epoch % len(partitions) if partitions else 0
        return partitions[start:] + partitions[:start]


class ShareSessions:
    def __init__(self, sessions_max: Callable[[], int]) -> None:
        self._sessions_max = sessions_max
        self._sessions: dict[tuple[str, str], ShareSession] = {}
        self._members: dict[str, int] = {}
        """The number of sessions by group."""

    def __len__(self) -> int:
        return len(self._sessions)

    def has_members(self, group_id: str) -> bool:
        return group_id in self._members

    def open(
        self, group_id: str, member_id: str, partitions: Iterable[TopicIdPartition], *, has_acknowledgements: bool
    ) -> ShareSession:
        if has_acknowledgements:
            raise InvalidRequest("a new share session has nothing to acknowledge")
        self.close(group_id, member_id)
        if len(self._sessions) >= self._sessions_max():
            raise ShareSessionLimitReached("this broker has reached its limit of share sessions")
        session = self._sessions[group_id, member_id] = ShareSession(group_id, member_id, partitions)
        self._members[group_id] = self._members.get(group_id, 0) + 1
        return session

    def resume(self, group_id: str, member_id: str, epoch: int) -> ShareSession:
        """Advance the session to its next epoch. The final epoch changes nothing: call `close` to end it."""
        session = self._sessions.get((group_id, member_id))
        if session is None:
            raise ShareSessionNotFound(f"{member_id} of group {group_id} has no share session here")
        if epoch == FINAL_EPOCH:
            return session
        if session.epoch != epoch:
            raise InvalidShareSessionEpoch(f"epoch {epoch}, expected {session.epoch}")
        session.epoch = session.epoch + 1 if session.epoch < EPOCH_MAX else 1
        return session

    def close(self, group_id: str, member_id: str) -> ShareSession | None:
        session = self._sessions.pop((group_id, member_id), None)
        if session is not None:
            session.is_open = False
            session.detach()
            left = self._members.pop(group_id) - 1
            if left:
                self._members[group_id] = left
        return session
