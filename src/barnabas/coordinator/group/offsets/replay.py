"""Replays committed offsets, and those of transactions. An offset of an unknown group creates one without members."""

from barnabas.coordinator.group.offsets.stored import OffsetRecord, TopicOffsets
from barnabas.coordinator.group.store import GroupStore


def replay_offsets(store: GroupStore, record: TopicOffsets) -> None:
    group_id, topic, offsets = record
    if store.pending_offsets:
        for partition in offsets:
            store.pending_offsets.supersede(group_id, topic, partition)
    store.offsets.setdefault(group_id, {}).setdefault(topic, {}).update(offsets)
    store.ensure_group(group_id)


def replay_offset(store: GroupStore, record: OffsetRecord) -> None:
    if store.pending_offsets:
        place = record[:3]
        if record.value is None:
            store.pending_offsets.forget(*place)
        else:
            store.pending_offsets.supersede(*place)
    _put_offset(store, record)


def replay_pending_offset(store: GroupStore, producer_id: int, record: OffsetRecord) -> None:
    if record.value is None:  # offsets are never deleted in a transaction
        return
    store.pending_offsets.put(producer_id, record)
    store.ensure_group(record.group_id)


def replay_transaction_end(store: GroupStore, producer_id: int, *, commit: bool) -> None:
    for record in store.pending_offsets.end(producer_id, commit=commit):
        _put_offset(store, record)


def _put_offset(store: GroupStore, record: OffsetRecord) -> None:
    if record.value is not None:
        by_topic = store.offsets.setdefault(record.group_id, {})
        by_topic.setdefault(record.topic, {})[record.partition] = record.value
        store.ensure_group(record.group_id)
        return
    by_topic = store.offsets.get(record.group_id, {})
    partitions = by_topic.get(record.topic, {})
    partitions.pop(record.partition, None)
    if not partitions:
        by_topic.pop(record.topic, None)
    if not by_topic:
        store.offsets.pop(record.group_id, None)
