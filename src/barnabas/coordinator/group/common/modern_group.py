"""The state that all modern groups have. Only replay changes it, except fields that are in memory only.

group epoch    grows whenever the subscriptions or the subscribed topics change
target epoch   the group epoch for which the target assignment was computed; target_epoch <= group_epoch
member epoch   the target epoch that the member has reached
"""

from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from barnabas.coordinator.group.common.partitions import NO_PARTITIONS, Partitions
from barnabas.wire.errors import UnknownMemberId

INITIAL_EPOCH: Final = 1
NOT_CHECKED: Final = -1


class ModernMember(Protocol):
    """Immutable: a changed member is a new object."""

    @property
    def member_id(self) -> str: ...

    @property
    def member_epoch(self) -> int: ...

    @property
    def subscribed_topic_names(self) -> frozenset[str]: ...

    def is_reconciled_to(self, target_epoch: int) -> bool: ...


M = TypeVar("M", bound=ModernMember)


class ModernGroup(Generic[M]):
    kind: ClassVar[str]
    """The type of the group, as in ListGroups."""
    protocol_type: ClassVar[str]

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.group_epoch = INITIAL_EPOCH
        self.metadata_hash = 0
        """Of the subscribed topics, at the group epoch."""
        self.members: dict[str, M] = {}
        self.target_epoch = INITIAL_EPOCH
        self.target_timestamp_ms = 0
        """When the target assignment was computed; 0 if unknown."""
        self.targets: dict[str, Partitions] = {}
        """The target assignment: no partition appears twice, and every key is or was a member."""
        self.names_subscribed: dict[str, int] = {}
        """How many members subscribe to a topic by its name."""

        self.checked_version = NOT_CHECKED
        """In memory only: the catalog version of the last comparison of the metadata hash."""
        self.checked_epoch = INITIAL_EPOCH
        """In memory only: the resulting group epoch. If storing that fails, the hash is compared again."""

    @property
    def state_name(self) -> str:
        """The state that administrators see."""
        raise NotImplementedError

    @property
    def is_empty(self) -> bool:
        return not self.members

    def removal_records(self) -> list[Any]:
        """The tombstones that delete the group."""
        raise NotImplementedError

    def needs_topic_check(self, catalog_version: int) -> bool:
        return self.checked_version != catalog_version or self.group_epoch < self.checked_epoch

    def topics_checked(self, catalog_version: int, group_epoch: int) -> None:
        self.checked_version = catalog_version
        self.checked_epoch = group_epoch

    def member(self, member_id: str) -> M:
        found = self.members.get(member_id)
        if found is None:
            raise UnknownMemberId(f"Member {member_id} is not a member of group {self.group_id}.")
        return found

    def target_of(self, member_id: str) -> Partitions:
        return self.targets.get(member_id, NO_PARTITIONS)

    def put(self, member: M) -> None:
        before = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if before is None or before.subscribed_topic_names != member.subscribed_topic_names:
            self._count(before, -1)
            self._count(member, 1)

    def remove(self, member_id: str) -> M | None:
        before = self.members.pop(member_id, None)
        self._count(before, -1)
        return before

    def _count(self, member: M | None, step: int) -> None:
        add_counts(self.names_subscribed, () if member is None else member.subscribed_topic_names, step)


def add_counts(counts: dict[str, int], names: "frozenset[str] | tuple[str, ...]", step: int) -> None:
    """Names whose count drops to zero are removed."""
    for name in names:
        count = counts.get(name, 0) + step
        if count:
            counts[name] = count
        else:
            del counts[name]
