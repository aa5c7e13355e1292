"""Replay of a consumer group's records. A tombstone for what is not there changes nothing."""

from collections.abc import Callable
from typing import Any, Final

from barnabas.coordinator.group.consumer.group import ConsumerGroup, ResolvedRegex
from barnabas.coordinator.group.consumer.member import ConsumerMember
from barnabas.coordinator.group.consumer.stored import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    MemberMetadata,
    StoredCurrentAssignment,
    StoredGroupEpoch,
    StoredPartitionMetadata,
    StoredRegularExpression,
    StoredTarget,
    StoredTargetEpoch,
)
from barnabas.coordinator.group.modern.partitions import from_stored
from barnabas.coordinator.group.store import GroupStore

NO_TARGET_EPOCH: Final = -1


def _group(store: GroupStore, group_id: str) -> ConsumerGroup:
    group = store.modern.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group
    group = ConsumerGroup(group_id)
    store.put_modern(group)
    return group


def _known(store: GroupStore, group_id: str) -> ConsumerGroup | None:
    group = store.modern.get(group_id)
    return group if isinstance(group, ConsumerGroup) else None


def _replay_group(store: GroupStore, key: ConsumerGroupMetadataKey, value: StoredGroupEpoch | None) -> None:
    if value is not None:
        group = _group(store, key.group_id)
        group.group_epoch = value.epoch
        group.metadata_hash = value.metadata_hash
    elif _known(store, key.group_id) is not None:
        store.remove_modern(key.group_id)


def _replay_partition_metadata(
    store: GroupStore, key: ConsumerGroupPartitionMetadataKey, value: StoredPartitionMetadata | None
) -> None:
    if value is not None:
        _group(store, key.group_id).has_partition_metadata = True
    elif (group := _known(store, key.group_id)) is not None:
        group.has_partition_metadata = False


def _replay_member(store: GroupStore, key: ConsumerGroupMemberMetadataKey, value: MemberMetadata | None) -> None:
    if value is not None:
        group = _group(store, key.group_id)
        member = group.members.get(key.member_id) or ConsumerMember(member_id=key.member_id)
        group.put(member.with_metadata(value))
    elif (known := _known(store, key.group_id)) is not None:
        known.remove(key.member_id)


def _replay_current_assignment(
    store: GroupStore, key: ConsumerGroupCurrentMemberAssignmentKey, value: StoredCurrentAssignment | None
) -> None:
    group = _known(store, key.group_id) if value is None else _group(store, key.group_id)
    if group is None:
        return
    member = group.members.get(key.member_id)
    if member is None:
        if value is None:
            return
        member = ConsumerMember(member_id=key.member_id)
    group.put(member.with_assignment(value))


def _replay_target(store: GroupStore, key: ConsumerGroupTargetAssignmentMemberKey, value: StoredTarget | None) -> None:
    if value is not None:
        _group(store, key.group_id).targets[key.member_id] = from_stored(value.topic_partitions)
    elif (group := _known(store, key.group_id)) is not None:
        group.targets.pop(key.member_id, None)


def _replay_target_epoch(
    store: GroupStore, key: ConsumerGroupTargetAssignmentMetadataKey, value: StoredTargetEpoch | None
) -> None:
    if value is not None:
        group = _group(store, key.group_id)
        group.target_epoch = value.assignment_epoch
        group.target_timestamp_ms = value.assignment_timestamp
    elif (known := _known(store, key.group_id)) is not None:
        known.target_epoch = NO_TARGET_EPOCH
        known.target_timestamp_ms = 0


def _replay_regex(
    store: GroupStore, key: ConsumerGroupRegularExpressionKey, value: StoredRegularExpression | None
) -> None:
    if value is not None:
        resolved = ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
        _group(store, key.group_id).resolved[key.regular_expression] = resolved
    elif (group := _known(store, key.group_id)) is not None:
        group.resolved.pop(key.regular_expression, None)


CONSUMER_REPLAYS: Final[dict[type[Any], Callable[[GroupStore, Any, Any], None]]] = {
    ConsumerGroupMetadataKey: _replay_group,
    ConsumerGroupPartitionMetadataKey: _replay_partition_metadata,
    ConsumerGroupMemberMetadataKey: _replay_member,
    ConsumerGroupTargetAssignmentMetadataKey: _replay_target_epoch,
    ConsumerGroupTargetAssignmentMemberKey: _replay_target,
    ConsumerGroupCurrentMemberAssignmentKey: _replay_current_assignment,
    ConsumerGroupRegularExpressionKey: _replay_regex,
}
