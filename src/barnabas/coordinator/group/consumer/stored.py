"""The records of a consumer group, as Kafka stores them.

ConsumerGroupMetadata            the group epoch, and the hash of the topics subscribed to
ConsumerGroupMemberMetadata      the ids of a member, and its subscription
ConsumerGroupTargetAssignment... the target of each member, and the group epoch it was computed for
ConsumerGroupCurrentMember...    the epoch and the partitions of a member, and those it has yet to revoke
ConsumerGroupRegularExpression   the topics that a regular expression matches
ConsumerGroupPartitionMetadata   stored by Kafka 4.0 instead of the hash; only deleted here
"""

import uuid
from typing import Final, NamedTuple

from barnabas.coordinator.group.common.partitions import StoredTopicPartitions
from barnabas.coordinator.group.common.record_format import RecordFormat, ValueCodec
from barnabas.wire.codec import decode, decode_versioned, encode, encode_versioned
from barnabas.wire.errors import CorruptMessage
from barnabas.wire.primitives import read_uvarint, uvarint
from barnabas.wire.schema import Message, array, bytes_field, int8, int32, int64, string, uuid_field


class ConsumerGroupMetadataKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()


class StoredGroupEpoch(Message, versions=(0, 0), flexible_since=0):
    epoch: int = int32()
    metadata_hash: int = int64(tag=0)


class ConsumerGroupPartitionMetadataKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()


class StoredPartitionRacks(Message, versions=(0, 0), flexible_since=0):
    partition: int = int32()
    racks: tuple[str, ...] = array("string")


class StoredTopicMetadata(Message, versions=(0, 0), flexible_since=0):
    topic_id: uuid.UUID | None = uuid_field()
    topic_name: str = string()
    num_partitions: int = int32()
    partition_metadata: tuple[StoredPartitionRacks, ...] = array(StoredPartitionRacks)


class StoredPartitionMetadata(Message, versions=(0, 0), flexible_since=0):
    topics: tuple[StoredTopicMetadata, ...] = array(StoredTopicMetadata)


class ConsumerGroupMemberMetadataKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()
    member_id: str = string()


class StoredClassicProtocol(Message, versions=(0, 0), flexible_since=0):
    name: str = string()
    metadata: bytes = bytes_field()


class StoredClassicMember(Message, versions=(0, 0), flexible_since=0):
    """Additional fields of a member of the classic protocol."""

    session_timeout_ms: int = int32()
    supported_protocols: tuple[StoredClassicProtocol, ...] = array(StoredClassicProtocol)


class StoredMemberMetadata(Message, versions=(0, 0), flexible_since=0):
    instance_id: str | None = string(None)
    rack_id: str | None = string(None)
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: tuple[str, ...] = array("string")
    subscribed_topic_regex: str | None = string(None)
    rebalance_timeout_ms: int = int32(-1)
    server_assignor: str | None = string(None)


class MemberMetadata(NamedTuple):
    """Kafka stores the second in the first, as a nullable tagged struct.

    Tag 0 holds 0 for null, or 1 and the struct. It is always written: if it were missing, Kafka would read an empty
    struct, and take the member for one of the classic protocol.
    """

    facts: StoredMemberMetadata
    classic: StoredClassicMember | None = None


_CLASSIC_TAG: Final = 0
_NULL, _PRESENT = b"\0", b"\1"
_NO_TAGS: Final = b"\0"


def encode_member_metadata(value: MemberMetadata) -> bytes:
    content = _NULL if value.classic is None else _PRESENT + encode(value.classic)
    facts = encode_versioned(value.facts, 0).removesuffix(_NO_TAGS)
    return facts + uvarint(1) + uvarint(_CLASSIC_TAG) + uvarint(len(content)) + content


def decode_member_metadata(stored: bytes) -> MemberMetadata:
    facts = decode_versioned(StoredMemberMetadata, stored)  # without the tags, which it does not declare
    position = len(encode_versioned(facts, 0).removesuffix(_NO_TAGS))
    try:
        count, position = read_uvarint(stored, position)
        for _ in range(count):
            tag, position = read_uvarint(stored, position)
            size, position = read_uvarint(stored, position)
            if tag == _CLASSIC_TAG and stored[position : position + 1] == _PRESENT:
                return MemberMetadata(facts, decode(StoredClassicMember, stored, position + 1))
            position += size
    except (IndexError, ValueError) as error:
        raise CorruptMessage(f"the tags of a member's metadata cannot be read: {error}") from error
    return MemberMetadata(facts)


class ConsumerGroupTargetAssignmentMetadataKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()


class StoredTargetEpoch(Message, versions=(0, 0), flexible_since=0):
    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0)


class ConsumerGroupTargetAssignmentMemberKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()
    member_id: str = string()


class StoredTarget(Message, versions=(0, 0), flexible_since=0):
    topic_partitions: tuple[StoredTopicPartitions, ...] = array(StoredTopicPartitions)


class ConsumerGroupCurrentMemberAssignmentKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()
    member_id: str = string()


class StoredOwnedPartitions(Message, versions=(0, 0), flexible_since=0):
    topic_id: uuid.UUID | None = uuid_field()
    partitions: tuple[int, ...] = array("int32")
    assignment_epochs: tuple[int, ...] | None = array("int32", None, tag=0)
    """The member epoch since which it owns each partition, in the same order. New in Kafka 4.3."""


class StoredCurrentAssignment(Message, versions=(0, 0), flexible_since=0):
    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: tuple[StoredOwnedPartitions, ...] = array(StoredOwnedPartitions)
    partitions_pending_revocation: tuple[StoredOwnedPartitions, ...] = array(StoredOwnedPartitions)


class ConsumerGroupRegularExpressionKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()
    regular_expression: str = string()


class StoredRegularExpression(Message, versions=(0, 0), flexible_since=0):
    topics: tuple[str, ...] = array("string")
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
