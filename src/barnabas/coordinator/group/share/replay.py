"""Replays the records of a share group."""

from collections.abc import Callable
from typing import Any, Final

from barnabas.coordinator.group.common.modern_replay import ModernReplay
from barnabas.coordinator.group.share.group import ShareGroup, StateTopics
from barnabas.coordinator.group.share.member import ShareMember
from barnabas.coordinator.group.share.stored import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupMemberMetadataKey,
    ShareGroupMetadataKey,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMetadataKey,
    StoredStateTopics,
)
from barnabas.coordinator.group.store import GroupStore

_REPLAY: Final = ModernReplay(ShareGroup, lambda member_id: ShareMember(member_id=member_id))

known_group: Final = _REPLAY.known


def _replay_state_topics(
    store: GroupStore, key: ShareGroupStatePartitionMetadataKey, value: StoredStateTopics | None
) -> None:
    if value is not None:
        _REPLAY.ensure(store, key.group_id).state_topics = StateTopics.from_stored(value)
    elif (group := known_group(store, key.group_id)) is not None:
        group.state_topics = StateTopics()


SHARE_REPLAYS: Final[dict[type[Any], Callable[[GroupStore, Any, Any], None]]] = {
    ShareGroupMetadataKey: _REPLAY.group,
    ShareGroupMemberMetadataKey: _REPLAY.member,
    ShareGroupTargetAssignmentMetadataKey: _REPLAY.target_epoch,
    ShareGroupTargetAssignmentMemberKey: _REPLAY.target,
    ShareGroupCurrentMemberAssignmentKey: _REPLAY.current_assignment,
    ShareGroupStatePartitionMetadataKey: _replay_state_topics,
}
