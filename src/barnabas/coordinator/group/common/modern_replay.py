"""Replay of the records that all modern groups have. A tombstone for something unknown changes nothing.

Each type of group has its own formats for them, with the same field names.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, Protocol, TypeVar

from barnabas.coordinator.group.common.modern_group import ModernGroup, ModernMember
from barnabas.coordinator.group.common.partitions import StoredTopicPartitions, from_stored
from barnabas.coordinator.group.store import GroupStore

NO_TARGET_EPOCH: Final = -1


class GroupKey(Protocol):
    @property
    def group_id(self) -> str: ...


class MemberKey(GroupKey, Protocol):
    @property
    def member_id(self) -> str: ...


class GroupEpoch(Protocol):
    @property
    def epoch(self) -> int: ...

    @property
    def metadata_hash(self) -> int: ...


class TargetEpoch(Protocol):
    @property
    def assignment_epoch(self) -> int: ...

    @property
    def assignment_timestamp(self) -> int: ...


class Target(Protocol):
    @property
    def topic_partitions(self) -> Iterable[StoredTopicPartitions]: ...


class ReplayedMember(ModernMember, Protocol):
    def with_metadata(self, stored: Any, /) -> ModernMember: ...

    def with_assignment(self, stored: Any | None, /) -> ModernMember: ...


G = TypeVar("G", bound=ModernGroup[Any])


class ModernReplay(Generic[G]):
    def __init__(self, kind: type[G], new_member: Callable[[str], ReplayedMember]) -> None:
        self._kind = kind
        self._new_member = new_member

    def ensure(self, store: GroupStore, group_id: str) -> G:
        group = self.known(store, group_id)
        if group is None:
            group = self._kind(group_id)
            store.put_modern(group)
        return group

    def known(self, store: GroupStore, group_id: str) -> G | None:
        group = store.modern.get(group_id)
        return group if isinstance(group, self._kind) else None

    def group(self, store: GroupStore, key: GroupKey, value: GroupEpoch | None) -> None:
        if value is not None:
            group = self.ensure(store, key.group_id)
            group.group_epoch = value.epoch
            group.metadata_hash = value.metadata_hash
        elif self.known(store, key.group_id) is not None:
            store.remove_modern(key.group_id)

    def member(self, store: GroupStore, key: MemberKey, value: Any | None) -> None:
        if value is not None:
            group = self.ensure(store, key.group_id)
            member = group.members.get(key.member_id) or self._new_member(key.member_id)
            group.put(member.with_metadata(value))
        elif (known := self.known(store, key.group_id)) is not None:
            known.remove(key.member_id)

    def current_assignment(self, store: GroupStore, key: MemberKey, value: Any | None) -> None:
        group = self.known(store, key.group_id) if value is None else self.ensure(store, key.group_id)
        if group is None:
            return
        member = group.members.get(key.member_id)
        if member is None:
            if value is None:
                return
            member = self._new_member(key.member_id)
        group.put(member.with_assignment(value))

    def target(self, store: GroupStore, key: MemberKey, value: Target | None) -> None:
        if value is not None:
            self.ensure(store, key.group_id).targets[key.member_id] = from_stored(value.topic_partitions)
        elif (group := self.known(store, key.group_id)) is not None:
            group.targets.pop(key.member_id, None)

    def target_epoch(self, store: GroupStore, key: GroupKey, value: TargetEpoch | None) -> None:
        if value is not None:
            group = self.ensure(store, key.group_id)
            group.target_epoch = value.assignment_epoch
            group.target_timestamp_ms = value.assignment_timestamp
        elif (known := self.known(store, key.group_id)) is not None:
            known.target_epoch = NO_TARGET_EPOCH
            known.target_timestamp_ms = 0
