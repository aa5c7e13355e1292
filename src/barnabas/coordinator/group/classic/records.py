"""Makes the records of a classic group."""

from barnabas.coordinator.group.classic.stored import GroupMetadataKey, StoredGroup
from barnabas.coordinator.group.common.record_format import StateRecord


def group_metadata(group_id: str, stored: StoredGroup) -> StateRecord:
    return StateRecord(GroupMetadataKey(group=group_id), stored)


def group_removal(group_id: str) -> StateRecord:
    return StateRecord(GroupMetadataKey(group=group_id), None)
