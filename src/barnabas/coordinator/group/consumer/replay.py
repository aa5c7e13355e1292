"""Replays the records of a consumer group."""

from collections.abc import Callable
from typing import Any, Final

from barnabas.coordinator.group.common.modern_replay import ModernReplay
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
    StoredPartitionMetadata,
    StoredRegularExpression,
)
from barnabas.coordinator.group.store import GroupStore

_REPLAY: Final = ModernReplay(ConsumerGroup, lambda member_id: ConsumerMember(member_id=member_id))


def _replay_partition_metadata(
    store: GroupStore, key: ConsumerGroupPartitionMetadataKey, value: StoredPartitionMetadata | None
) -> None:
    if value is not None:
        _REPLAY.ensure(store, key.group_id).has_partition_metadata = True
    elif (group := _REPLAY.known(store, key.group_id)) is not None:
        group.has_partition_metadata = False


def _replay_regex(
    store: GroupStore, key: ConsumerGroupRegularExpressionKey, value: StoredRegularExpression | None
) -> None:
    if value is not None:
        resolved = ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
        _REPLAY.ensure(store, key.group_id).resolved[key.regular_expression] = resolved
    elif (group := _REPLAY.known(store, key.group_id)) is not None:
        group.resolved.pop(key.regular_expression, None)


CONSUMER_REPLAYS: Final[dict[type[Any], Callable[[GroupStore, Any, Any], None]]] = {
    ConsumerGroupMetadataKey: _REPLAY.group,
    ConsumerGroupPartitionMetadataKey: _replay_partition_metadata,
    ConsumerGroupMemberMetadataKey: _REPLAY.member,
    ConsumerGroupTargetAssignmentMetadataKey: _REPLAY.target_epoch,
    ConsumerGroupTargetAssignmentMemberKey: _REPLAY.target,
    ConsumerGroupCurrentMemberAssignmentKey: _REPLAY.current_assignment,
    ConsumerGroupRegularExpressionKey: _replay_regex,
}
