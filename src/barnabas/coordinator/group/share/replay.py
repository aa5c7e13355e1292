"""Replay of a share group's records. A tombstone for what is not there changes nothing."""

from collections.abc import Callable
from typing import Any, Final

from barnabas.coordinator.group.modern.partitions import from_stored
from barnabas.coordinator.group.share.group import ShareGroup, ShareMember, StateTopics
from barnabas.coordinator.group.share.stored import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupMemberMetadataKey,
    ShareGroupMetadataKey,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMetadataKey,
    StoredShareAssignment,
    StoredShareGroupEpoch,
    StoredShareMember,
    StoredShareTarget,
    StoredShareTargetEpoch,
    StoredStateTopics,
)
from barnabas.coordinator.group.store import GroupStore


def _group(store: GroupStore, group_id: str) -> ShareGroup:
    group = store.modern.get(group_id)
    if isinstance(group, ShareGroup):
        return group
    group = ShareGroup(group_id)
    store.put_modern(group)
    return group


def known_group(store: GroupStore, group_id: str) -> ShareGroup | None:
    group = store.modern.get(group_id)
    return group if isinstance(group, ShareGroup) else None


def _replay_group(store: GroupStore, key: ShareGroupMetadataKey, value: StoredShareGroupEpoch | None) -> None:
    if value is not None:
        group = _group(store, key.group_id)
        group.group_epoch = value.epoch
        group.metadata_hash = value.metadata_hash
    elif known_group(store, key.group_id) is not None:
        store.remove_modern(key.group_id)


def _replay_member(store: GroupStore, key: ShareGroupMemberMetadataKey, value: StoredShareMember | None) -> None:
    if value is not None:
        group = _group(store, key.group_id)
        member = group.members.get(key.member_id) or ShareMember(member_id=key.member_id)
        group.put(member.with_metadata(value))
    elif (known := known_group(store, key.group_id)) is not None:
        known.remove(key.member_id)


def _replay_current_assignment(
    store: GroupStore, key: ShareGroupCurrentMemberAssignmentKey, value: StoredShareAssignment | None
) -> None:
    group = known_group(store, key.group_id) if value is None else _group(store, key.group_id)
    if group is None:
        return
    member = group.members.get(key.member_id)
    if member is None:
        if value is None:
            return
        member = ShareMember(member_id=key.member_id)
    group.put(member.with_assignment(value))


def _replay_target(
    store: GroupStore, key: ShareGroupTargetAssignmentMemberKey, value: StoredShareTarget | None
) -> None:
    if value is not None:
        _group(store, key.group_id).targets[key.member_id] = from_stored(value.topic_partitions)
    elif (group := known_group(store, key.group_id)) is not None:
        group.targets.pop(key.member_id, None)


def _replay_target_epoch(
    store: GroupStore, key: ShareGroupTargetAssignmentMetadataKey, value: StoredShareTargetEpoch | None
) -> None:
    if value is not None:
        group = _group(store, key.group_id)
        group.target_epoch = value.assignment_epoch
        group.target_timestamp_ms = value.assignment_timestamp
    elif (known := known_group(store, key.group_id)) is not None:
        known.target_epoch = -1
        known.target_timestamp_ms = 0


def _replay_state_topics(
    store: GroupStore, key: ShareGroupStatePartitionMetadataKey, value: StoredStateTopics | None
) -> None:
    if value is not None:
        _group(store, key.group_id).state_topics = StateTopics.from_stored(value)
    elif (group := known_group(store, key.group_id)) is not None:
        group.state_topics = StateTopics()


SHARE_REPLAYS: Final[dict[type[Any], Callable[[GroupStore, Any, Any], None]]] = {
    ShareGroupMetadataKey: _replay_group,
    ShareGroupMemberMetadataKey: _replay_member,
    ShareGroupTargetAssignmentMetadataKey: _replay_target_epoch,
    ShareGroupTargetAssignmentMemberKey: _replay_target,
    ShareGroupCurrentMemberAssignmentKey: _replay_current_assignment,
    ShareGroupStatePartitionMetadataKey: _replay_state_topics,
}
