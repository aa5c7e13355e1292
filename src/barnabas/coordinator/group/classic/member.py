"""One member of a classic group: its ids, its protocols, its parked requests."""

from typing import Final

from barnabas.coordinator.core.decision import Parked
from barnabas.coordinator.group.classic.stored import StoredMember
from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.sync_group import SyncGroupResponse

Protocols = dict[str, bytes]
"""The protocols that a member supports, most preferred first, each with its metadata for the leader."""

UNKNOWN_MEMBER_ID: Final = ""
SESSION: Final = "session"


class Member:
    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "client",
        "group_instance_id",
        "is_new",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_key",
        "session_timeout_ms",
    )

    def __init__(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        client: ClientInfo,
        *,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client = client
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        self.awaiting_join: Parked[JoinGroupResponse] | None = None
        self.awaiting_sync: Parked[SyncGroupResponse] | None = None
        self.is_new = False
        """Its first JoinGroup is still parked. Such a member can time out although it waits for us."""
        self.session_key = session_key(group_id, member_id)

    @classmethod
    def from_stored(cls, group_id: str, stored: StoredMember, protocol: str) -> "Member":
        return cls(
            group_id,
            stored.member_id,
            stored.group_instance_id,
            ClientInfo(stored.client_id, stored.client_host),
            rebalance_timeout_ms=stored.session_timeout if stored.rebalance_timeout == -1 else stored.rebalance_timeout,
            session_timeout_ms=stored.session_timeout,
            protocols={protocol: stored.subscription},
            assignment=stored.assignment,
        )

    def to_stored(self, protocol: str, assignment: bytes) -> StoredMember:
        return StoredMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client.client_id,
            client_host=self.client.client_host,
            rebalance_timeout=self.rebalance_timeout_ms,
            session_timeout=self.session_timeout_ms,
            subscription=self.protocols[protocol],
            assignment=assignment,
        )

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def has_parked_request(self) -> bool:
        """A member with a parked request cannot send heartbeats, so its session does not time out."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)

    def offers(self, protocols: Protocols) -> bool:
        """Whether these are exactly its protocols, in the same order."""
        return list(self.protocols.items()) == list(protocols.items())

    def vote(self, candidates: set[str]) -> str:
        return next(name for name in self.protocols if name in candidates)


def session_key(group_id: str, member_id: str) -> tuple[str, str, str]:
    return (SESSION, group_id, member_id)
