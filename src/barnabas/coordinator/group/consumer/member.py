"""One member of a consumer group. Immutable: every change makes a new object.

The subscription comes from the member. Its partitions are those that the coordinator has assigned to it, and those that
it must revoke and has not yet. It owns both: no other member gets such a partition before it is revoked.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Final, NamedTuple

from barnabas.coordinator.group.classic.member import Protocols
from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group.common.topics import shared_names
from barnabas.coordinator.group.consumer.stored import (
    MemberMetadata,
    StoredClassicMember,
    StoredClassicProtocol,
    StoredCurrentAssignment,
    StoredMemberMetadata,
    StoredOwnedPartitions,
)

OwnedPartitions = Mapping[uuid.UUID, Mapping[int, int]]
"""By topic id: partitions, each with the member epoch since which the member owns it. Immutable."""

NOTHING: Final[OwnedPartitions] = {}
UNKNOWN_CLIENT: Final = ClientInfo("", "")

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
"""A static member has left and will be back: its partitions are kept for it until its session ends."""


class MemberState(IntEnum):
    STABLE = 0
    """It owns its target assignment."""
    UNREVOKED_PARTITIONS = 1
    """It must revoke partitions, and has not reported that it did."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that other members have not revoked yet."""
    UNKNOWN = 127
    """Stored by a newer version."""

    @classmethod
    def of(cls, value: int) -> "MemberState":
        return cls(value) if value in cls._value2member_map_ else cls.UNKNOWN


class ClassicMemberState(NamedTuple):
    """Additional state of a member of the classic protocol."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    """Most preferred first. A consumer group has no common protocol: each member gets its own first one."""

    @property
    def protocol(self) -> str:
        return self.protocols[0][0]

    @property
    def subscription(self) -> bytes:
        return self.protocols[0][1]

    def as_protocols(self) -> Protocols:
        return dict(self.protocols)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    member_id: str
    member_epoch: int = JOIN_EPOCH
    previous_member_epoch: int = -1
    """Accepted too: the answer with the current epoch may have been lost."""
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client: ClientInfo = UNKNOWN_CLIENT
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str | None = ""
    server_assignor: str | None = None
    assigned: OwnedPartitions = field(default_factory=dict)
    pending_revocation: OwnedPartitions = field(default_factory=dict)
    classic: ClassicMemberState | None = None

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == target_epoch

    @property
    def regex(self) -> str:
        """The empty string if there is none."""
        return self.subscribed_topic_regex or ""

    def owns(self, topic_id: uuid.UUID | None, partition: int) -> int | None:
        """The member epoch since which it owns the partition, also if it must revoke it; None if it does not own it."""
        if topic_id is None:
            return None
        since = self.assigned.get(topic_id, {}).get(partition)
        return since if since is not None else self.pending_revocation.get(topic_id, {}).get(partition)

    def at_epoch(self, epoch: int, state: MemberState, assigned: OwnedPartitions) -> "ConsumerMember":
        return replace(
            self,
            member_epoch=epoch,
            previous_member_epoch=self.member_epoch,
            state=state,
            assigned=assigned,
            pending_revocation=NOTHING,
        )

    # --- stored form

    def with_metadata(self, metadata: MemberMetadata) -> "ConsumerMember":
        stored, classic = metadata
        return replace(
            self,
            instance_id=stored.instance_id,
            rack_id=stored.rack_id,
            client=ClientInfo(stored.client_id, stored.client_host),
            subscribed_topic_names=shared_names(frozenset(stored.subscribed_topic_names)),
            subscribed_topic_regex=stored.subscribed_topic_regex,
            rebalance_timeout_ms=stored.rebalance_timeout_ms,
            server_assignor=stored.server_assignor,
            classic=None
            if classic is None
            else ClassicMemberState(
                classic.session_timeout_ms, tuple((each.name, each.metadata) for each in classic.supported_protocols)
            ),
        )

    def stored_metadata(self) -> MemberMetadata:
        facts = StoredMemberMetadata(
            instance_id=self.instance_id,
            rack_id=self.rack_id,
            client_id=self.client.client_id,
            client_host=self.client.client_host,
            subscribed_topic_names=tuple(sorted(self.subscribed_topic_names)),
            subscribed_topic_regex=self.subscribed_topic_regex,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            server_assignor=self.server_assignor,
        )
        if self.classic is None:
            return MemberMetadata(facts)
        protocols = tuple(
            StoredClassicProtocol(name=name, metadata=metadata) for name, metadata in self.classic.protocols
        )
        classic = StoredClassicMember(session_timeout_ms=self.classic.session_timeout_ms, supported_protocols=protocols)
        return MemberMetadata(facts, classic)

    def with_assignment(self, stored: StoredCurrentAssignment | None) -> "ConsumerMember":
        if stored is None:
            stored = StoredCurrentAssignment(
                member_epoch=LEAVE_EPOCH, previous_member_epoch=LEAVE_EPOCH, state=self.state
            )
        return replace(
            self,
            member_epoch=stored.member_epoch,
            previous_member_epoch=stored.previous_member_epoch,
            state=MemberState.of(stored.state),
            assigned=_owned(stored.assigned_partitions, stored.member_epoch),
            pending_revocation=_owned(stored.partitions_pending_revocation, stored.member_epoch),
        )

    def stored_assignment(self) -> StoredCurrentAssignment:
        return StoredCurrentAssignment(
            member_epoch=self.member_epoch,
            previous_member_epoch=self.previous_member_epoch,
            state=self.state.value,
            assigned_partitions=_stored(self.assigned),
            partitions_pending_revocation=_stored(self.pending_revocation),
        )


def _owned(stored: Iterable[StoredOwnedPartitions], member_epoch: int) -> OwnedPartitions:
    owned: dict[uuid.UUID, Mapping[int, int]] = {}
    for topic in stored:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = (max(member_epoch, 0),) * len(topic.partitions)
        if topic.topic_id is not None:
            owned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return owned


def _stored(owned: OwnedPartitions) -> tuple[StoredOwnedPartitions, ...]:
    return tuple(
        StoredOwnedPartitions(
            topic_id=topic_id, partitions=tuple(partitions), assignment_epochs=tuple(partitions.values())
        )
        for topic_id, partitions in owned.items()
    )


def since_epoch(partitions: Mapping[uuid.UUID, Iterable[int]], epoch: int) -> OwnedPartitions:
    return {topic_id: dict.fromkeys(sorted(indexes), epoch) for topic_id, indexes in partitions.items()}
