"""The records of __consumer_offsets, byte for byte Apache Kafka's.

Written in the versions that Kafka 4.3 writes (classic groups 3; offsets 4, or 1 if the client asked for its own
retention); all versions are read. The formats of modern groups are in their packages. Records of other types belong to
types of groups that are not supported, and are skipped.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from barnabas.coordinator.group.consumer.stored import CONSUMER_FORMATS
from barnabas.coordinator.group.offset_format import (
    LEGACY_OFFSET_COMMIT,
    NO_TIMESTAMP,
    OFFSET_COMMIT,
    CommittedOffset,
    OffsetRecord,
    TopicOffsets,
    decode_offset,
    encode_offset,
    encode_offsets,
)
from barnabas.coordinator.group.record_format import RecordFormat, StateRecord
from barnabas.coordinator.group.share.stored import SHARE_FORMATS
from barnabas.coordinator.ports import KeyValue
from barnabas.wire.codec import decode, decode_versioned, encode, encode_versioned
from barnabas.wire.errors import CorruptMessage
from barnabas.wire.schema import Message, array, bytes_field, int32, int64, since, string

GROUP_METADATA: Final = 2

__all__ = [
    "NO_TIMESTAMP",
    "TEXT_BYTES_MAX",
    "CommittedOffset",
    "GroupCoordinatorRecord",
    "GroupRecord",
    "OffsetRecord",
    "StateRecord",
    "StoredGroup",
    "StoredMember",
    "TopicOffsets",
    "decode_record",
    "encode_record",
    "encode_records",
    "fits",
]

TEXT_BYTES_MAX: Final = 2**15 - 1
"""The longest string in UTF-8 that fits into these records. Requests of later versions can carry longer ones."""


def fits(text: str | None) -> bool:
    return text is None or len(text) * 4 <= TEXT_BYTES_MAX or len(text.encode()) <= TEXT_BYTES_MAX


class GroupMetadataKey(Message, versions=(0, 0), flexible_since=1):
    group: str = string()


class StoredMember(Message, versions=(0, 4), flexible_since=4):
    member_id: str = string()
    group_instance_id: str | None = since(3, string(None))
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = since(1, int32(-1))
    session_timeout: int = int32()
    subscription: bytes = bytes_field()
    assignment: bytes = bytes_field()


class StoredGroup(Message, versions=(0, 4), flexible_since=4):
    """A classic group as it is stored: its last generation."""

    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(None)
    leader: str | None = string(None)
    current_state_timestamp: int = since(2, int64(-1))
    members: tuple[StoredMember, ...] = array(StoredMember)


_GROUP_VERSION: Final = 3


class GroupRecord(NamedTuple):
    """Of a classic group."""

    group_id: str
    value: StoredGroup | None


LoggedGroupRecord = OffsetRecord | GroupRecord | StateRecord
"""One record of the log."""
GroupCoordinatorRecord = LoggedGroupRecord | TopicOffsets

_FORMATS: Final = (*CONSUMER_FORMATS, *SHARE_FORMATS)
_BY_TYPE: Final[dict[int, RecordFormat]] = {each.type_id: each for each in _FORMATS}
_BY_KEY: Final[dict[type[Any], RecordFormat]] = {each.key: each for each in _FORMATS}

_GROUP_KEY_TYPE: Final = GROUP_METADATA.to_bytes(2, "big")


def encode_records(records: Sequence[GroupCoordinatorRecord]) -> list[KeyValue]:
    pairs: list[KeyValue] = []
    for record in records:
        if isinstance(record, TopicOffsets):
            pairs += encode_offsets(record)
        else:
            pairs.append(encode_record(record))
    return pairs


def encode_record(record: LoggedGroupRecord) -> KeyValue:
    if isinstance(record, OffsetRecord):
        return encode_offset(record)
    if isinstance(record, GroupRecord):
        group_key = _GROUP_KEY_TYPE + encode(GroupMetadataKey(group=record.group_id))
        return KeyValue(group_key, None if record.value is None else encode_versioned(record.value, _GROUP_VERSION))
    return _BY_KEY[type(record.key)].encode(record)


def decode_record(key: bytes, value: bytes | None) -> LoggedGroupRecord | None:
    if len(key) < 2:
        raise CorruptMessage(f"a coordinator's record has {len(key)} bytes where its type should be")
    kind = int.from_bytes(key[:2], "big", signed=True)
    if kind in (LEGACY_OFFSET_COMMIT, OFFSET_COMMIT):
        return decode_offset(key, value)
    if kind == GROUP_METADATA:
        group_key = decode(GroupMetadataKey, key, 2)
        return GroupRecord(group_key.group, None if value is None else decode_versioned(StoredGroup, value))
    known = _BY_TYPE.get(kind)
    return None if known is None else known.decode(key, value)
