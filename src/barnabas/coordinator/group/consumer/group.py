"""A consumer group of KIP-848 in memory. Only replay changes it.

state         when
Empty         it has no members
Assigning     the target assignment is older than the group epoch
Reconciling   not all members have reached the target assignment
Stable        all have
Dead          deleted
"""

import uuid
from enum import Enum
from typing import Any, Final, NamedTuple

from barnabas.coordinator.group.common.modern_group import ModernGroup, add_counts
from barnabas.coordinator.group.consumer.member import ConsumerMember, MemberState, OwnedPartitions
from barnabas.coordinator.group.consumer.records import group_removal


class ConsumerGroupState(Enum):
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class ResolvedRegex(NamedTuple):
    topics: frozenset[str]
    version: int
    """An offset in the metadata log: topics created after it have not been matched."""
    timestamp_ms: int


NOTHING_RESOLVED: Final = ResolvedRegex(frozenset(), 0, 0)


class ConsumerGroup(ModernGroup[ConsumerMember]):
    kind = "consumer"
    protocol_type = "consumer"

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.static_members: dict[str, str] = {}
        """Member ids by group instance id; every value is a key of `members`."""
        self.owners: dict[uuid.UUID, dict[int, str]] = {}
        """The member that owns a partition, or has yet to revoke it. At most one does."""
        self.regexes: dict[str, int] = {}
        """How many members subscribe with each regular expression."""
        self.resolved: dict[str, ResolvedRegex] = {}
        self.assignors: dict[str, int] = {}
        """How many members ask for each server-side assignor."""
        self.classic_protocols: dict[str, int] = {}
        """How many members of the classic protocol support each of its assignors."""
        self.classic_size = 0
        self.has_partition_metadata = False
        """Whether Kafka 4.0 left a record that must be deleted."""

    # --- queries

    @property
    def state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.group_epoch > self.target_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.target_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def state_name(self) -> str:
        return self.state.value

    def removal_records(self) -> list[Any]:
        return list(group_removal(self))

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def owner(self, topic_id: uuid.UUID, partition: int) -> str | None:
        return self.owners.get(topic_id, {}).get(partition)

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """The topics it subscribes to by name, and those that its regular expression has been resolved to."""
        resolved = self.resolved.get(member.regex, NOTHING_RESOLVED).topics
        return member.subscribed_topic_names | resolved if resolved else member.subscribed_topic_names

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.names_subscribed or any(topic in regex.topics for regex in self.resolved.values())

    def supports_classic(self, protocol_type: str, protocols: "dict[str, bytes]") -> bool:
        if protocol_type != self.protocol_type:
            return False
        if not self.members:
            return bool(protocols)
        return any(self.classic_protocols.get(name, 0) == self.classic_size for name in protocols)

    def waits_for_others(self, member: ConsumerMember) -> bool:
        """Whether another member still has to revoke a partition of its target."""
        return member.state is MemberState.UNRELEASED_PARTITIONS and any(
            partition not in member.assigned.get(topic_id, {}) and self.owner(topic_id, partition) is not None
            for topic_id, partitions in self.target_of(member.member_id).items()
            for partition in partitions
        )

    def preferred_assignor(self, before: ConsumerMember | None, after: ConsumerMember | None) -> str | None:
        """The assignor that most members ask for, with `after` in place of `before`."""
        counts = dict(self.assignors)
        add_counts(counts, _assignor(before), -1)
        add_counts(counts, _assignor(after), 1)
        return max(counts, key=counts.__getitem__, default=None)

    # --- changes

    def put(self, member: ConsumerMember) -> None:
        before = self.members.get(member.member_id)
        super().put(member)
        self._count_member(before, -1)
        self._count_member(member, 1)
        if before is not None:
            self._release(before)
        for owned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in owned.items():
                self.owners.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member.member_id))
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def remove(self, member_id: str) -> ConsumerMember | None:
        before = super().remove(member_id)
        if before is not None:
            self._count_member(before, -1)
            self._release(before)
            if before.instance_id is not None and self.static_members.get(before.instance_id) == member_id:
                del self.static_members[before.instance_id]
        return before

    def _count_member(self, member: ConsumerMember | None, step: int) -> None:
        if member is None:
            return
        add_counts(self.regexes, (member.regex,) if member.regex else (), step)
        add_counts(self.assignors, _assignor(member), step)
        if member.classic is not None:
            self.classic_size += step
            add_counts(self.classic_protocols, tuple(dict(member.classic.protocols)), step)

    def _release(self, member: ConsumerMember) -> None:
        for owned in (member.assigned, member.pending_revocation):
            self._release_partitions(member.member_id, owned)

    def _release_partitions(self, member_id: str, owned: OwnedPartitions) -> None:
        for topic_id, partitions in owned.items():
            owners = self.owners.get(topic_id, {})
            for partition in partitions:
                # After compaction a later owner may come before the revocation of an earlier one in the log.
                if owners.get(partition) == member_id:
                    del owners[partition]
            if not owners:
                self.owners.pop(topic_id, None)


def _assignor(member: ConsumerMember | None) -> tuple[str, ...]:
    return () if member is None or member.server_assignor is None else (member.server_assignor,)
