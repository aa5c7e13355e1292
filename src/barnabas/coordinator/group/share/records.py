"""Makes the records of a share group."""

import uuid
from typing import TYPE_CHECKING

from barnabas.coordinator.group.common.partitions import Partitions, to_stored
from barnabas.coordinator.group.common.record_format import StateRecord
from barnabas.coordinator.group.share.member import ShareMember
from barnabas.coordinator.group.share.stored import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupMemberMetadataKey,
    ShareGroupMetadataKey,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMetadataKey,
    StoredShareGroupEpoch,
    StoredShareTarget,
    StoredShareTargetEpoch,
)

if TYPE_CHECKING:
    from barnabas.coordinator.group.share.group import ShareGroup, StateTopics


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> StateRecord:
    return StateRecord(
        ShareGroupMetadataKey(group_id=group_id), StoredShareGroupEpoch(epoch=epoch, metadata_hash=metadata_hash)
    )


def member_metadata(group_id: str, member: ShareMember) -> StateRecord:
    key = ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id)
    return StateRecord(key, member.stored_metadata())


def current_assignment(group_id: str, member: ShareMember) -> StateRecord:
    key = ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return StateRecord(key, member.stored_assignment())


def target(group_id: str, member_id: str, partitions: Partitions) -> StateRecord:
    key = ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return StateRecord(key, StoredShareTarget(topic_partitions=to_stored(partitions)))


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> StateRecord:
    return StateRecord(
        ShareGroupTargetAssignmentMetadataKey(group_id=group_id),
        StoredShareTargetEpoch(assignment_epoch=epoch, assignment_timestamp=timestamp_ms),
    )


def state_topics(group_id: str, topics: "StateTopics", names: dict[uuid.UUID, str]) -> StateRecord:
    return StateRecord(ShareGroupStatePartitionMetadataKey(group_id=group_id), topics.stored(names))


def member_removal(group_id: str, member_id: str) -> list[StateRecord]:
    """Tombstones in this order: current assignment, target assignment, member."""
    return [
        StateRecord(ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        StateRecord(ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        StateRecord(ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def group_removal(group: "ShareGroup") -> list[StateRecord]:
    group_id = group.group_id
    return [
        *(record for member_id in group.members for record in member_removal(group_id, member_id)),
        StateRecord(ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        StateRecord(ShareGroupMetadataKey(group_id=group_id), None),
        StateRecord(ShareGroupStatePartitionMetadataKey(group_id=group_id), None),
    ]
