"""The state that all modern groups have, in memory. Only replay changes it, apart from what is marked as soft.

group epoch    grows whenever the subscriptions or the topics they name have changed
target epoch   the group epoch for which the target assignment was computed; target_epoch <= group_epoch
member epoch   the target epoch that the member has come to
"""

from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from barnabas.coordinator.group.modern.partitions import NO_PARTITIONS, Partitions
from barnabas.wire.errors import UnknownMemberId

INITIAL_EPOCH: Final = 1
NOT_CHECKED: Final = -1


class ModernMember(Protocol):
    """A value: a changed member is another object."""

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
    """The type of group, as ListGroups tells it."""
    protocol_type: ClassVar[str]

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.group_epoch = INITIAL_EPOCH
        self.metadata_hash = 0
        """Of the topics subscribed to, as of the group epoch."""
        self.members: dict[str, M] = {}
        self.target_epoch = INITIAL_EPOCH
        self.target_timestamp_ms = 0
        """When the target assignment was computed; 0: that is not known."""
        self.targets: dict[str, Partitions] = {}
        """What each member shall have: no partition appears twice, and every key is or was a member."""
        self.names_subscribed: dict[str, int] = {}
        """How many members subscribe to a topic by its name."""

        self.checked_version = NOT_CHECKED
        """Soft: the catalog's version at which the metadata hash was compared last."""
        self.checked_epoch = INITIAL_EPOCH
        """Soft: the group epoch that came out of it. Should that not be stored, it is to be compared again."""

    @property
    def state_name(self) -> str:
        """As administrators see it."""
        raise NotImplementedError

    def removal_records(self) -> list[Any]:
        """The end of the group."""
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
    """Names that nobody counts any more disappear."""
    for name in names:
        count = counts.get(name, 0) + step
        if count:
            counts[name] = count
        else:
            del counts[name]
