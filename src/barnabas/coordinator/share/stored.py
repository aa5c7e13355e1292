"""The records of __share_group_state, byte for byte Apache Kafka's.

Key: type (int16: 0 a snapshot, 1 an update), then group, topic id, partition. Value: version (int16), then the body; no
value is a tombstone. A snapshot is a share-partition's whole state, an update is what changed since; so everything
before the last snapshots can be deleted.
"""

import uuid
from typing import Any, Final, NamedTuple

from barnabas.coordinator.core.ports import KeyValue
from barnabas.model.share import SharePartitionKey, StateBatch
from barnabas.wire.codec import decode, encode
from barnabas.wire.errors import CorruptMessage
from barnabas.wire.schema import Message, array, int8, int16, int32, int64, string, uuid_field

SHARE_SNAPSHOT: Final = 0
SHARE_UPDATE: Final = 1

_VERSION_0: Final = (0).to_bytes(2, "big")
_NO_TOPIC_ID: Final = uuid.UUID(int=0)


class ShareKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()
    topic_id: uuid.UUID | None = uuid_field()
    partition: int = int32()


class StoredBatch(Message, versions=(0, 0), flexible_since=0):
    first_offset: int = int64()
    last_offset: int = int64()
    delivery_state: int = int8()
    delivery_count: int = int16()


class ShareSnapshotValue(Message, versions=(0, 0), flexible_since=0):
    snapshot_epoch: int = int32()
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(-1, tag=0)
    create_timestamp: int = int64()
    write_timestamp: int = int64()
    state_batches: tuple[StoredBatch, ...] = array(StoredBatch)


class ShareUpdateValue(Message, versions=(0, 0), flexible_since=0):
    snapshot_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(-1, tag=0)
    state_batches: tuple[StoredBatch, ...] = array(StoredBatch)


class Snapshot(NamedTuple):
    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    create_timestamp_ms: int
    write_timestamp_ms: int
    batches: tuple[StateBatch, ...]


class Update(NamedTuple):
    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


class SnapshotRecord(NamedTuple):
    key: SharePartitionKey
    value: Snapshot | None


class UpdateRecord(NamedTuple):
    key: SharePartitionKey
    value: Update


ShareStateRecord = SnapshotRecord | UpdateRecord


def encode_record(record: ShareStateRecord) -> KeyValue:
    kind = SHARE_SNAPSHOT if isinstance(record, SnapshotRecord) else SHARE_UPDATE
    group_id, topic_id, partition = record.key
    key = kind.to_bytes(2, "big") + encode(ShareKey(group_id=group_id, topic_id=topic_id, partition=partition))
    if record.value is None:
        return KeyValue(key, None)
    value: Any = record.value
    batches = tuple(
        StoredBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
        for first, last, state, count in value.batches
    )
    stored: object
    if isinstance(value, Snapshot):
        stored = ShareSnapshotValue(
            snapshot_epoch=value.snapshot_epoch,
            state_epoch=value.state_epoch,
            leader_epoch=value.leader_epoch,
            start_offset=value.start_offset,
            create_timestamp=value.create_timestamp_ms,
            write_timestamp=value.write_timestamp_ms,
            state_batches=batches,
            delivery_complete_count=value.delivery_complete_count,
        )
    else:
        stored = ShareUpdateValue(
            snapshot_epoch=value.snapshot_epoch,
            leader_epoch=value.leader_epoch,
            start_offset=value.start_offset,
            state_batches=batches,
            delivery_complete_count=value.delivery_complete_count,
        )
    return KeyValue(key, _VERSION_0 + encode(stored))


def decode_record(key: bytes, value: bytes | None) -> ShareStateRecord | None:
    """None for an unknown type of record."""
    if len(key) < 2:
        raise CorruptMessage(f"a share coordinator's record has {len(key)} bytes where its type should be")
    kind = int.from_bytes(key[:2], "big", signed=True)
    if kind not in (SHARE_SNAPSHOT, SHARE_UPDATE):
        return None
    stored_key = decode(ShareKey, key, 2)
    share_key = SharePartitionKey(stored_key.group_id, stored_key.topic_id or _NO_TOPIC_ID, stored_key.partition)
    if value is None:
        return SnapshotRecord(share_key, None) if kind == SHARE_SNAPSHOT else None
    if value[:2] != _VERSION_0:
        raise CorruptMessage(f"share state of version {value[:2].hex()} is stored; version 0 is known")
    if kind == SHARE_UPDATE:
        update = decode(ShareUpdateValue, value, 2)
        return UpdateRecord(
            share_key,
            Update(
                update.snapshot_epoch,
                update.leader_epoch,
                update.start_offset,
                update.delivery_complete_count,
                _batches(update.state_batches),
            ),
        )
    snapshot = decode(ShareSnapshotValue, value, 2)
    return SnapshotRecord(
        share_key,
        Snapshot(
            snapshot.snapshot_epoch,
            snapshot.state_epoch,
            snapshot.leader_epoch,
            snapshot.start_offset,
            snapshot.delivery_complete_count,
            snapshot.create_timestamp,
            snapshot.write_timestamp,
            _batches(snapshot.state_batches),
        ),
    )


def _batches(stored: tuple[StoredBatch, ...]) -> tuple[StateBatch, ...]:
    batches = []
    for batch in stored:
        found = StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
        if not found.is_possible:
            raise CorruptMessage(f"the share state of offsets {found.first_offset} to {found.last_offset} is not valid")
        batches.append(found)
    return tuple(batches)
