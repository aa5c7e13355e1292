"""The records of a consumer group, as Kafka stores them.

ConsumerGroupMetadata            the group epoch, and the hash of the topics subscribed to
ConsumerGroupMemberMetadata      who a member is, and what it subscribes to
ConsumerGroupTargetAssignment... what each member shall have, and the group epoch this was computed for
ConsumerGroupCurrentMember...    what a member has, the epoch it has come to, and what it has yet to give up
ConsumerGroupRegularExpression   the topics that a regular expression stands for
ConsumerGroupPartitionMetadata   what Kafka 4.0 stored in place of the hash: only ever deleted
"""

import uuid
from typing import Final, NamedTuple

from barnabas.coordinator.group.modern.partitions import StoredTopicPartitions
from barnabas.coordinator.group.record_format import RecordFormat, ValueCodec
from barnabas.wire.entities import (
    array,
    array_of,
    bytes_field,
    decode_entity,
    encode_entity,
    int8,
    int32,
    int64,
    kafka_entity,
    string,
    uuid_field,
)
from barnabas.wire.entity_versions import decode_version, encode_version, versions
from barnabas.wire.errors import CorruptMessage
from barnabas.wire.primitives import read_uvarint, uvarint


@kafka_entity(version=0, flexible=False)
class ConsumerGroupMetadataKey:
    group_id: str = string()


@versions(0, 0, flexible_since=0)
class StoredGroupEpoch:
    epoch: int = int32()
    metadata_hash: int = int64(tag=0)


@kafka_entity(version=0, flexible=False)
class ConsumerGroupPartitionMetadataKey:
    group_id: str = string()


@versions(0, 0, flexible_since=0)
class StoredPartitionRacks:
    partition: int = int32()
    racks: tuple[str, ...] = array_of("string")


@versions(0, 0, flexible_since=0)
class StoredTopicMetadata:
    topic_id: uuid.UUID | None = uuid_field()
    topic_name: str = string()
    num_partitions: int = int32()
    partition_metadata: tuple[StoredPartitionRacks, ...] = array()


@versions(0, 0, flexible_since=0)
class StoredPartitionMetadata:
    topics: tuple[StoredTopicMetadata, ...] = array()


@kafka_entity(version=0, flexible=False)
class ConsumerGroupMemberMetadataKey:
    group_id: str = string()
    member_id: str = string()


@versions(0, 0, flexible_since=0)
class StoredClassicProtocol:
    name: str = string()
    metadata: bytes = bytes_field()


@versions(0, 0, flexible_since=0)
class StoredClassicMember:
    """What is known of a member that speaks the classic protocol."""

    session_timeout_ms: int = int32()
    supported_protocols: tuple[StoredClassicProtocol, ...] = array()


@versions(0, 0, flexible_since=0)
class StoredMemberMetadata:
    instance_id: str | None = string(None)
    rack_id: str | None = string(None)
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: tuple[str, ...] = array_of("string")
    subscribed_topic_regex: str | None = string(None)
    rebalance_timeout_ms: int = int32(-1)
    server_assignor: str | None = string(None)


class MemberMetadata(NamedTuple):
    """Kafka has the second in the first, as a tagged struct that may be null, which kio does not know.

    Tag 0 holds 0 for null, or 1 and the struct. It is always written: Kafka reads its absence as an empty struct, and
    so would take the member for one of the classic protocol.
    """

    facts: StoredMemberMetadata
    classic: StoredClassicMember | None = None


_CLASSIC_TAG: Final = 0
_NULL, _PRESENT = b"\0", b"\1"
_NO_TAGS: Final = b"\0"


def encode_member_metadata(value: MemberMetadata) -> bytes:
    content = _NULL if value.classic is None else _PRESENT + encode_entity(value.classic)
    facts = encode_version(value.facts, 0).removesuffix(_NO_TAGS)
    return facts + uvarint(1) + uvarint(_CLASSIC_TAG) + uvarint(len(content)) + content


def decode_member_metadata(stored: bytes) -> MemberMetadata:
    facts = decode_version(StoredMemberMetadata, stored)  # without tags, which it does not know
    position = len(encode_version(facts, 0).removesuffix(_NO_TAGS))
    try:
        count, position = read_uvarint(stored, position)
        for _ in range(count):
            tag, position = read_uvarint(stored, position)
            size, position = read_uvarint(stored, position)
            if tag == _CLASSIC_TAG and stored[position : position + 1] == _PRESENT:
                return MemberMetadata(facts, decode_entity(StoredClassicMember, stored, position + 1))
            position += size
    except (IndexError, ValueError) as error:
        raise CorruptMessage(f"the tags of a member's metadata cannot be read: {error}") from error
    return MemberMetadata(facts)


@kafka_entity(version=0, flexible=False)
class ConsumerGroupTargetAssignmentMetadataKey:
    group_id: str = string()


@versions(0, 0, flexible_since=0)
class StoredTargetEpoch:
    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0)


@kafka_entity(version=0, flexible=False)
class ConsumerGroupTargetAssignmentMemberKey:
    group_id: str = string()
    member_id: str = string()


@versions(0, 0, flexible_since=0)
class StoredTarget:
    topic_partitions: tuple[StoredTopicPartitions, ...] = array()


@kafka_entity(version=0, flexible=False)
class ConsumerGroupCurrentMemberAssignmentKey:
    group_id: str = string()
    member_id: str = string()


@versions(0, 0, flexible_since=0)
class StoredOwnedPartitions:
    topic_id: uuid.UUID | None = uuid_field()
    partitions: tuple[int, ...] = array_of("int32")
    assignment_epochs: tuple[int, ...] | None = array_of("int32", None, tag=0)
    """Since which member epoch it has each of them, in the same order. Kafka before 4.3 did not store it."""


@versions(0, 0, flexible_since=0)
class StoredCurrentAssignment:
    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: tuple[StoredOwnedPartitions, ...] = array()
    partitions_pending_revocation: tuple[StoredOwnedPartitions, ...] = array()


@kafka_entity(version=0, flexible=False)
class ConsumerGroupRegularExpressionKey:
    group_id: str = string()
    regular_expression: str = string()


@versions(0, 0, flexible_since=0)
class StoredRegularExpression:
    topics: tuple[str, ...] = array_of("string")
    version: int = int64()
    timestamp: int = int64()


CONSUMER_FORMATS: Final = (
    RecordFormat(3, ConsumerGroupMetadataKey, StoredGroupEpoch),
    RecordFormat(4, ConsumerGroupPartitionMetadataKey, StoredPartitionMetadata),
    RecordFormat(
        5,
        ConsumerGroupMemberMetadataKey,
        StoredMemberMetadata,
        codec=ValueCodec(encode_member_metadata, decode_member_metadata),
    ),
    RecordFormat(6, ConsumerGroupTargetAssignmentMetadataKey, StoredTargetEpoch),
    RecordFormat(7, ConsumerGroupTargetAssignmentMemberKey, StoredTarget),
    RecordFormat(8, ConsumerGroupCurrentMemberAssignmentKey, StoredCurrentAssignment),
    RecordFormat(16, ConsumerGroupRegularExpressionKey, StoredRegularExpression),
)
