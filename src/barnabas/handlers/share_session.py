"""Share sessions: which partitions a member of a share group fetches from this broker, named once and then remembered.

    epoch 0      opens a session, in place of one that there was
    epoch n > 0  continues it; the request names only what is new and what is to be forgotten
    epoch -1     ends it: what the member still holds goes back to the group

A session belongs to a member, and ends with the connection on which it was opened: a consumer that was killed need not
be waited for until its locks time out.
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


class SharedPartition(NamedTuple):
    topic_id: uuid.UUID | None
    partition: int


class ShareSession:
    def __init__(self, group_id: str, member_id: str, wanted: Iterable[SharedPartition]) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.epoch = 1
        """That the next request has to carry."""
        self.is_open = True
        self.wanted = dict.fromkeys(wanted)
        self.detach: Callable[[], None] = lambda: None
        """From the connection on which it was opened."""

    def in_turn(self) -> list[SharedPartition]:
        """Beginning with another partition every time, so that a busy one does not starve the others."""
        wanted = list(self.wanted)
        turn = self.epoch % len(wanted) if wanted else 0
        return wanted[turn:] + wanted[:turn]


class ShareSessions:
    def __init__(self, sessions_max: Callable[[], int]) -> None:
        self._sessions_max = sessions_max
        self._sessions: dict[tuple[str, str], ShareSession] = {}
        self._members: dict[str, int] = {}
        """How many sessions a group has."""

    def __len__(self) -> int:
        return len(self._sessions)

    def has_members(self, group_id: str) -> bool:
        return group_id in self._members

    def open(
        self, group_id: str, member_id: str, wanted: Iterable[SharedPartition], *, has_acknowledgements: bool
    ) -> ShareSession:
        if has_acknowledgements:
            raise InvalidRequest("a new share session has nothing to acknowledge")
        self.close(group_id, member_id)
        if len(self._sessions) >= self._sessions_max():
            raise ShareSessionLimitReached("this broker has as many share sessions as it may have")
        session = self._sessions[group_id, member_id] = ShareSession(group_id, member_id, wanted)
        self._members[group_id] = self._members.get(group_id, 0) + 1
        return session

    def resume(self, group_id: str, member_id: str, epoch: int) -> ShareSession:
        """The session goes on with the next epoch. A final epoch leaves it as it is: `close` ends it."""
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
