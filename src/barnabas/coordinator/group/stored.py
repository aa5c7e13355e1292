"""The records of __consumer_offsets, byte for byte Apache Kafka's.

Key: type (int16), then the body of the key. Value: version (int16), then the body; none is a tombstone. Written are the
versions that Kafka 4.3 writes (group metadata 3; offsets 4, or 1 where the client asked for a retention of its own);
all versions are read. Records of other types belong to group kinds not served here and are skipped.
"""

import uuid
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from barnabas.coordinator.ports import KeyValue
from barnabas.wire.entities import (
    array,
    bytes_field,
    decode_entity,
    encode_entity,
    int32,
    int64,
    kafka_entity,
    string,
    uuid_field,
)
from barnabas.wire.errors import CorruptMessage

LEGACY_OFFSET_COMMIT: Final = 0
OFFSET_COMMIT: Final = 1
GROUP_METADATA: Final = 2

NO_TIMESTAMP: Final = -1

TEXT_BYTES_MAX: Final = 2**15 - 1
"""What a string of these records may have in UTF-8. Requests of later versions can carry longer ones."""


def fits(text: str | None) -> bool:
    return text is None or len(text) * 4 <= TEXT_BYTES_MAX or len(text.encode()) <= TEXT_BYTES_MAX


@kafka_entity(version=0, flexible=False)
class OffsetCommitKey:
    group: str = string()
    topic: str = string()
    partition: int = int32()


@kafka_entity(version=0, flexible=False)
class GroupMetadataKey:
    group: str = string()


@kafka_entity(version=0, flexible=False)
class _OffsetV0:
    offset: int = int64()
    metadata: str = string()
    commit_timestamp: int = int64()


@kafka_entity(version=1, flexible=False)
class _OffsetV1:
    offset: int = int64()
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64(-1)


@kafka_entity(version=3, flexible=False)
class _OffsetV3:
    offset: int = int64()
    leader_epoch: int = int32(-1)
    metadata: str = string()
    commit_timestamp: int = int64()


@kafka_entity(version=4, flexible=True)
class _OffsetV4:
    offset: int = int64()
    leader_epoch: int = int32(-1)
    metadata: str = string()
    commit_timestamp: int = int64()
    topic_id: uuid.UUID | None = uuid_field(tag=0)


@kafka_entity(version=0, flexible=False)
class _MemberV0:
    member_id: str = string()
    client_id: str = string()
    client_host: str = string()
    session_timeout: int = int32()
    subscription: bytes = bytes_field()
    assignment: bytes = bytes_field()


@kafka_entity(version=1, flexible=False)
class _MemberV1:
    member_id: str = string()
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32(-1)
    session_timeout: int = int32()
    subscription: bytes = bytes_field()
    assignment: bytes = bytes_field()


@kafka_entity(version=3, flexible=False)
class StoredMember:
    member_id: str = string()
    group_instance_id: str | None = string(None)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32(-1)
    session_timeout: int = int32()
    subscription: bytes = bytes_field()
    assignment: bytes = bytes_field()


@kafka_entity(version=4, flexible=True)
class _MemberV4:
    member_id: str = string()
    group_instance_id: str | None = string(None)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32(-1)
    session_timeout: int = int32()
    subscription: bytes = bytes_field()
    assignment: bytes = bytes_field()


@kafka_entity(version=0, flexible=False)
class _GroupV0:
    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(None)
    leader: str | None = string(None)
    members: tuple[_MemberV0, ...] = array()


@kafka_entity(version=1, flexible=False)
class _GroupV1:
    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(None)
    leader: str | None = string(None)
    members: tuple[_MemberV1, ...] = array()


@kafka_entity(version=2, flexible=False)
class _GroupV2:
    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(None)
    leader: str | None = string(None)
    current_state_timestamp: int = int64(-1)
    members: tuple[_MemberV1, ...] = array()


@kafka_entity(version=3, flexible=False)
class StoredGroup:
    """A group as the log knows it: its last generation."""

    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(None)
    leader: str | None = string(None)
    current_state_timestamp: int = int64(-1)
    members: tuple[StoredMember, ...] = array()


@kafka_entity(version=4, flexible=True)
class _GroupV4:
    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(None)
    leader: str | None = string(None)
    current_state_timestamp: int = int64(-1)
    members: tuple[_MemberV4, ...] = array()


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_TIMESTAMP
    """Only where an old client asked for its own retention; otherwise the broker's rules hold."""
    topic_id: uuid.UUID | None = None


class OffsetRecord(NamedTuple):
    group_id: str
    topic: str
    partition: int
    value: CommittedOffset | None


class GroupRecord(NamedTuple):
    group_id: str
    value: StoredGroup | None


GroupCoordinatorRecord = OffsetRecord | GroupRecord

_OFFSET_VERSIONS: Final[Mapping[int, type[Any]]] = {
    0: _OffsetV0,
    1: _OffsetV1,
    2: _OffsetV0,
    3: _OffsetV3,
    4: _OffsetV4,
}
_GROUP_VERSIONS: Final[Mapping[int, type[Any]]] = {0: _GroupV0, 1: _GroupV1, 2: _GroupV2, 3: StoredGroup, 4: _GroupV4}

_OFFSET_KEY_TYPE: Final = OFFSET_COMMIT.to_bytes(2, "big")
_GROUP_KEY_TYPE: Final = GROUP_METADATA.to_bytes(2, "big")
_VERSION_1: Final = (1).to_bytes(2, "big")
_VERSION_3: Final = (3).to_bytes(2, "big")
_VERSION_4: Final = (4).to_bytes(2, "big")


def encode_record(record: GroupCoordinatorRecord) -> KeyValue:
    if isinstance(record, OffsetRecord):
        offset_key = OffsetCommitKey(group=record.group_id, topic=record.topic, partition=record.partition)
        offset = None if record.value is None else _encode_offset(record.value)
        return KeyValue(_OFFSET_KEY_TYPE + encode_entity(offset_key), offset)
    group_key = _GROUP_KEY_TYPE + encode_entity(GroupMetadataKey(group=record.group_id))
    return KeyValue(group_key, None if record.value is None else _VERSION_3 + encode_entity(record.value))


def decode_record(key: bytes, value: bytes | None) -> GroupCoordinatorRecord | None:
    kind = _int16(key)
    if kind in (LEGACY_OFFSET_COMMIT, OFFSET_COMMIT):
        offset_key = decode_entity(OffsetCommitKey, key, 2)
        offset = None if value is None else _decode_offset(value)
        return OffsetRecord(offset_key.group, offset_key.topic, offset_key.partition, offset)
    if kind == GROUP_METADATA:
        group_key = decode_entity(GroupMetadataKey, key, 2)
        return GroupRecord(group_key.group, None if value is None else _decode_group(value))
    return None


def _encode_offset(value: CommittedOffset) -> bytes:
    if value.expire_timestamp_ms != NO_TIMESTAMP:
        return _VERSION_1 + encode_entity(
            _OffsetV1(
                offset=value.offset,
                metadata=value.metadata,
                commit_timestamp=value.commit_timestamp_ms,
                expire_timestamp=value.expire_timestamp_ms,
            )
        )
    return _VERSION_4 + encode_entity(
        _OffsetV4(
            offset=value.offset,
            leader_epoch=value.leader_epoch,
            metadata=value.metadata,
            commit_timestamp=value.commit_timestamp_ms,
            topic_id=value.topic_id,
        )
    )


def _decode_offset(value: bytes) -> CommittedOffset:
    stored = _decode_value(_OFFSET_VERSIONS, value, "committed offset")
    return CommittedOffset(
        offset=stored.offset,
        leader_epoch=getattr(stored, "leader_epoch", -1),
        metadata=stored.metadata,
        commit_timestamp_ms=stored.commit_timestamp,
        expire_timestamp_ms=getattr(stored, "expire_timestamp", NO_TIMESTAMP),
        topic_id=getattr(stored, "topic_id", None),
    )


def _decode_group(value: bytes) -> StoredGroup:
    stored = _decode_value(_GROUP_VERSIONS, value, "group")
    if isinstance(stored, StoredGroup):
        return stored
    return StoredGroup(
        protocol_type=stored.protocol_type,
        generation=stored.generation,
        protocol=stored.protocol,
        leader=stored.leader,
        current_state_timestamp=getattr(stored, "current_state_timestamp", NO_TIMESTAMP),
        members=tuple(
            StoredMember(
                member_id=member.member_id,
                group_instance_id=getattr(member, "group_instance_id", None),
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=getattr(member, "rebalance_timeout", -1),
                session_timeout=member.session_timeout,
                subscription=member.subscription,
                assignment=member.assignment,
            )
            for member in stored.members
        ),
    )


def _decode_value(versions: Mapping[int, type[Any]], value: bytes, what: str) -> Any:
    version = _int16(value)
    if version not in versions:
        raise CorruptMessage(f"a {what} of version {version} is stored; versions 0 to {max(versions)} are known")
    return decode_entity(versions[version], value, 2)


def _int16(data: bytes) -> int:
    if len(data) < 2:
        raise CorruptMessage(f"a coordinator's record has {len(data)} bytes where its type should be")
    return int.from_bytes(data[:2], "big", signed=True)
