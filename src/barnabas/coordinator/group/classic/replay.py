"""Replays the record of a classic group.

Its in-memory state is ahead of the stored one (see `group`), so a record does not change it; a tombstone removes it.
"""

from collections.abc import Callable
from typing import Any, Final

from barnabas.coordinator.group.classic.group import ClassicGroup
from barnabas.coordinator.group.classic.stored import GroupMetadataKey, StoredGroup
from barnabas.coordinator.group.store import GroupStore


def _replay_group(store: GroupStore, key: GroupMetadataKey, value: StoredGroup | None) -> None:
    group_id = key.group
    if value is None:
        store.stored_groups.pop(group_id, None)
        store.end(group_id)
        return
    store.modern.pop(group_id, None)
    store.stored_groups[group_id] = value
    group = store.groups.get(group_id)
    if value.members and (group is None or not group.members):
        # It was a consumer group until now, so there is no in-memory state.
        store.groups[group_id] = ClassicGroup.from_stored(group_id, value)


CLASSIC_REPLAYS: Final[dict[type[Any], Callable[[GroupStore, Any, Any], None]]] = {GroupMetadataKey: _replay_group}
