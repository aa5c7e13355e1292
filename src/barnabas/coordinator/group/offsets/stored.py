"""How committed offsets are stored. By far the most frequent record: a commit of 100 partitions makes 100 of them.

`encode_offset`, `encode_offsets` and `decode_offset` handle the version that is always written (4) by hand, in a
fraction of the time that the declared format takes. The plain versions handle all other versions.
"""

import struct
import uuid
from functools import lru_cache
from typing import Final, NamedTuple

from barnabas.coordinator.core.ports import KeyValue
from barnabas.wire.codec import decode, decode_versioned, encode, encode_versioned
from barnabas.wire.primitives import uvarint
from barnabas.wire.schema import Message, int32, int64, since, string, uuid_field, within

LEGACY_OFFSET_COMMIT: Final = 0
OFFSET_COMMIT: Final = 1

NO_TIMESTAMP: Final = -1


class OffsetCommitKey(Message, versions=(0, 0), flexible_since=1):
    group: str = string()
    topic: str = string()
    partition: int = int32()


class StoredOffset(Message, versions=(0, 4), flexible_since=4):
    offset: int = int64()
    leader_epoch: int = since(3, int32(-1))
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = within(1, 1, int64(NO_TIMESTAMP))
    topic_id: uuid.UUID | None = since(4, uuid_field(tag=0))


_VERSION: Final = 4
_EXPIRING_VERSION: Final = 1
"""The only version that can store when an offset expires."""

_KEY_TYPE: Final = OFFSET_COMMIT.to_bytes(2, "big")
_VALUE_HEAD: Final = struct.Struct(">hqi")
_PLAIN_VALUE: Final = struct.Struct(">hqiBq")
"""The bytes of empty metadata."""
_int64: Final = struct.Struct(">q")
_int32: Final = struct.Struct(">i")
_NO_TAGS: Final = b"\0"
_TOPIC_ID_TAG: Final = b"\1\0\x10"
"""One tagged field: number 0, of 16 bytes."""


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_TIMESTAMP
    """Only set if an old client asked for its own retention; otherwise the broker's retention applies."""
    topic_id: uuid.UUID | None = None


class OffsetRecord(NamedTuple):
    group_id: str
    topic: str
    partition: int
    value: CommittedOffset | None


class TopicOffsets(NamedTuple):
    """What one commit says about a topic. It is stored as a record for each partition."""

    group_id: str
    topic: str
    offsets: dict[int, CommittedOffset]


def encode_offsets(record: TopicOffsets) -> list[KeyValue]:
    prefix = _key_prefix(record.group_id, record.topic)
    pack_key, pack_value = _int32.pack, _PLAIN_VALUE.pack
    pairs = []
    tagged_id, tags = None, _NO_TAGS  # usually the same for all of them
    for partition, committed in record.offsets.items():
        offset, leader_epoch, metadata, commit_timestamp_ms, expire_timestamp_ms, topic_id = committed
        if metadata or expire_timestamp_ms != NO_TIMESTAMP:
            pairs.append(encode_offset(OffsetRecord(record.group_id, record.topic, partition, committed)))
            continue
        if topic_id is not tagged_id:
            tagged_id, tags = topic_id, _NO_TAGS if topic_id is None else _topic_id_tag(topic_id)
        value = pack_value(_VERSION, offset, leader_epoch, 1, commit_timestamp_ms) + tags
        pairs.append(_key_value(KeyValue, (prefix + pack_key(partition), value)))
    return pairs


_key_value: Final = tuple.__new__
"""A NamedTuple's own constructor is a function in Python, which takes longer."""


def encode_offset(record: OffsetRecord) -> KeyValue:
    value = record.value
    if value is not None and value.expire_timestamp_ms != NO_TIMESTAMP:
        return encode_offset_plainly(record)
    key = _key_prefix(record.group_id, record.topic) + _int32.pack(record.partition)
    if value is None:
        return KeyValue(key, None)
    offset, leader_epoch, metadata, commit_timestamp_ms, _, topic_id = value
    tags = _NO_TAGS if topic_id is None else _topic_id_tag(topic_id)
    if not metadata:
        return KeyValue(key, _PLAIN_VALUE.pack(_VERSION, offset, leader_epoch, 1, commit_timestamp_ms) + tags)
    text = metadata.encode()
    head = _VALUE_HEAD.pack(_VERSION, offset, leader_epoch)
    return KeyValue(key, b"".join((head, uvarint(len(text) + 1), text, _int64.pack(commit_timestamp_ms), tags)))


@lru_cache(maxsize=4_096)
def _key_prefix(group_id: str, topic: str) -> bytes:
    return _KEY_TYPE + _text(group_id) + _text(topic)


@lru_cache(maxsize=4_096)
def _topic_id_tag(topic_id: uuid.UUID) -> bytes:
    return _TOPIC_ID_TAG + topic_id.bytes


def _text(text: str) -> bytes:
    data = text.encode()
    return len(data).to_bytes(2, "big") + data


def encode_offset_plainly(record: OffsetRecord) -> KeyValue:
    key = _KEY_TYPE + encode(OffsetCommitKey(group=record.group_id, topic=record.topic, partition=record.partition))
    value = record.value
    if value is None:
        return KeyValue(key, None)
    stored = StoredOffset(
        offset=value.offset,
        leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        commit_timestamp=value.commit_timestamp_ms,
        expire_timestamp=value.expire_timestamp_ms,
        topic_id=value.topic_id,
    )
    expires = value.expire_timestamp_ms != NO_TIMESTAMP
    return KeyValue(key, encode_versioned(stored, _EXPIRING_VERSION if expires else _VERSION))


def decode_offset(key: bytes, value: bytes | None) -> OffsetRecord:
    stored_key = decode(OffsetCommitKey, key, 2)
    committed = None if value is None else _unpacked(value) or _decode_value_plainly(value)
    return OffsetRecord(stored_key.group, stored_key.topic, stored_key.partition, committed)


def decode_offset_plainly(key: bytes, value: bytes | None) -> OffsetRecord:
    stored_key = decode(OffsetCommitKey, key, 2)
    committed = None if value is None else _decode_value_plainly(value)
    return OffsetRecord(stored_key.group, stored_key.topic, stored_key.partition, committed)


def _unpacked(value: bytes) -> CommittedOffset | None:
    """None if `encode_offset` has not written it."""
    if len(value) <= _VALUE_HEAD.size or value[_VALUE_HEAD.size] > 0x7F:
        return None
    version, offset, leader_epoch = _VALUE_HEAD.unpack_from(value)
    metadata_end = _VALUE_HEAD.size + value[_VALUE_HEAD.size]
    tags = metadata_end + _int64.size
    topic_id = None
    if value[tags : tags + len(_TOPIC_ID_TAG)] == _TOPIC_ID_TAG and len(value) == tags + len(_TOPIC_ID_TAG) + 16:
        topic_id = uuid.UUID(bytes=value[-16:])
    elif value[tags:] != _NO_TAGS:
        return None
    if version != _VERSION or value[_VALUE_HEAD.size] == 0:
        return None
    try:
        metadata = value[_VALUE_HEAD.size + 1 : metadata_end].decode()
    except UnicodeDecodeError:
        return None
    (commit_timestamp_ms,) = _int64.unpack_from(value, metadata_end)
    return CommittedOffset(offset, leader_epoch, metadata, commit_timestamp_ms, topic_id=topic_id)


def _decode_value_plainly(value: bytes) -> CommittedOffset:
    stored = decode_versioned(StoredOffset, value)
    return CommittedOffset(
        offset=stored.offset,
        leader_epoch=stored.leader_epoch,
        metadata=stored.metadata,
        commit_timestamp_ms=stored.commit_timestamp,
        expire_timestamp_ms=stored.expire_timestamp,
        topic_id=stored.topic_id,
    )
