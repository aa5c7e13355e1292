"""Groups of any type as administrators see them: list and delete."""

from collections.abc import Iterable, Sequence
from typing import Any

from barnabas.coordinator.core.decision import Decision
from barnabas.coordinator.group.offsets.stored import OffsetRecord
from barnabas.coordinator.group.store import GroupStore
from barnabas.wire.errors import GroupIdNotFound, KafkaError, NonEmptyGroup
from barnabas.wire.messages.list_groups import ListedGroup

Deleted = dict[str, KafkaError | None]
"""By group id: None if it is deleted, or why it cannot be."""


def list_groups(store: GroupStore, states: Iterable[str], types: Iterable[str]) -> list[ListedGroup]:
    """An empty filter matches everything; case does not matter."""
    wanted_states = {state.lower() for state in states}
    wanted_types = {kind.lower() for kind in types}
    return [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state_name,
            group_type=group.kind,
        )
        for group in store.all_groups()
        if (not wanted_types or group.kind in wanted_types)
        and (not wanted_states or group.state_name.lower() in wanted_states)
    ]


def decide_delete_groups(store: GroupStore, group_ids: Sequence[str]) -> Decision[Deleted]:
    deleted: Deleted = {}
    decision: Decision[Deleted] = Decision(deleted, atomic=False)
    for group_id in group_ids:
        if group_id not in deleted:
            deleted[group_id] = _delete(store, group_id, decision)
    return decision


def _delete(store: GroupStore, group_id: str, decision: Decision[Any]) -> KafkaError | None:
    group = store.group(group_id)
    if group is None:
        return GroupIdNotFound(f"there is no group {group_id}")
    if not group.is_empty:
        return NonEmptyGroup(f"group {group_id} has members; stop them first")
    committed = store.offsets.get(group_id, {})
    for topic, partitions in committed.items():
        decision.records += [OffsetRecord(group_id, topic, partition, None) for partition in partitions]
    for topic, partition in store.pending_offsets.places(group_id):
        if partition not in committed.get(topic, ()):
            decision.records.append(OffsetRecord(group_id, topic, partition, None))
    decision.records += group.removal_records()
    return None
