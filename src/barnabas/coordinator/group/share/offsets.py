"""Sets and deletes the offsets of a share group for an administrator, only while it has no members."""

import uuid
from collections.abc import Collection, Iterable
from typing import NamedTuple

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.group.common.partitions import Partitions
from barnabas.coordinator.group.share import records
from barnabas.coordinator.group.share.group import ShareGroup
from barnabas.coordinator.group.share.replay import known_group
from barnabas.coordinator.group.share.state_topics import decide_deleting, note_initializing
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import GroupIdNotFound, NonEmptyGroup


class AlteredOffsets(NamedTuple):
    state_epoch: int
    """States of this epoch fence leaders that have read an older one."""


def decide_alter(
    store: GroupStore, group_id: str, places: Iterable[tuple[uuid.UUID, int]], now: Now
) -> Decision[AlteredOffsets]:
    group = known_group(store, group_id)
    if group is None and (group_id in store.modern or group_id in store.groups):
        raise GroupIdNotFound(f"Group {group_id} is not a share group.")
    if group is not None and group.members:
        raise NonEmptyGroup("The group is not empty.")
    is_new = group is None
    group = ShareGroup(group_id) if group is None else group
    # Always a new epoch, so that leaders that have read the states of an earlier alteration are fenced.
    epoch = group.group_epoch if is_new else group.group_epoch + 1
    decision = Decision(AlteredOffsets(epoch))
    decision.records.append(records.group_epoch(group_id, epoch, group.metadata_hash))
    wanted: dict[uuid.UUID, frozenset[int]] = {}
    for topic_id, index in places:
        wanted[topic_id] = wanted.get(topic_id, frozenset()) | {index}
    note_initializing(store, group, wanted, now, decision)
    return decision


def decide_delete(store: GroupStore, group_id: str, topic_ids: Collection[uuid.UUID]) -> Decision[Partitions]:
    group = known_group(store, group_id)
    if group is None:
        is_other = store.group(group_id) is not None
        raise GroupIdNotFound(f"Group {group_id} is not a share group." if is_other else f"Group {group_id} not found.")
    if group.members:
        raise NonEmptyGroup("The group is not empty.")
    topics = group.state_topics
    known = [topic_id for topic_id in topic_ids if topic_id in topics.initialized or topic_id in topics.deleting]
    return decide_deleting(store, group, known)
