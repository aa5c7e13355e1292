"""Makes the records of a consumer group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.coordinator.group.common.partitions import Partitions, to_stored
from barnabas.coordinator.group.common.record_format import StateRecord
from barnabas.coordinator.group.consumer.member import ConsumerMember
from barnabas.coordinator.group.consumer.stored import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    StoredGroupEpoch,
    StoredRegularExpression,
    StoredTarget,
    StoredTargetEpoch,
)

if TYPE_CHECKING:
    from barnabas.coordinator.group.consumer.group import ConsumerGroup, ResolvedRegex


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> StateRecord:
    return StateRecord(
        ConsumerGroupMetadataKey(group_id=group_id), StoredGroupEpoch(epoch=epoch, metadata_hash=metadata_hash)
    )


def no_partition_metadata(group_id: str) -> StateRecord:
    return StateRecord(ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def member_metadata(group_id: str, member: ConsumerMember) -> StateRecord:
    key = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id)
    return StateRecord(key, member.stored_metadata())


def current_assignment(group_id: str, member: ConsumerMember) -> StateRecord:
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return StateRecord(key, member.stored_assignment())


def target(group_id: str, member_id: str, partitions: Partitions) -> StateRecord:
    key = ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return StateRecord(key, StoredTarget(topic_partitions=to_stored(partitions)))


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> StateRecord:
    return StateRecord(
        ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
        StoredTargetEpoch(assignment_epoch=epoch, assignment_timestamp=timestamp_ms),
    )


def regex(group_id: str, expression: str, resolved: ResolvedRegex | None) -> StateRecord:
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=expression)
    if resolved is None:
        return StateRecord(key, None)
    return StateRecord(
        key,
        StoredRegularExpression(
            topics=tuple(sorted(resolved.topics)), version=resolved.version, timestamp=resolved.timestamp_ms
        ),
    )


def member_removal(group_id: str, member_id: str) -> tuple[StateRecord, StateRecord, StateRecord]:
    """Tombstones in this order: current assignment, target assignment, member."""
    return (
        StateRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        StateRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        StateRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    )


def group_removal(group: ConsumerGroup, member_ids: Iterable[str] | None = None) -> list[StateRecord]:
    """`member_ids`: if earlier records of the same decision have replaced a member."""
    group_id = group.group_id
    ids = list(group.members if member_ids is None else member_ids)
    by_member = [member_removal(group_id, member_id) for member_id in ids]
    return [
        *(assignment for assignment, _, _ in by_member),
        *(member_target for _, member_target, _ in by_member),
        StateRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(metadata for _, _, metadata in by_member),
        *(regex(group_id, expression, None) for expression in group.resolved),
        no_partition_metadata(group_id),
        StateRecord(ConsumerGroupMetadataKey(group_id=group_id), None),
    ]
