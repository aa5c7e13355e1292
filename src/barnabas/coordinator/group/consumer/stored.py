"""The records of a consumer group, as Kafka stores them.

ConsumerGroupMetadata            the group epoch, and the hash of the topics subscribed to
ConsumerGroupMemberMetadata      who a member is, and what it subscribes to
ConsumerGroupTargetAssignment... what each member shall have, and the group epoch this was computed for
ConsumerGroupCurrentMember...    what a member has, the epoch it has come to, and what it has yet to give up
ConsumerGroupRegularExpression   the topics that a regular expression stands for
ConsumerGroupPartitionMetadata   what Kafka 4.0 stored in place of the hash: only ever deleted
"""

import uuid
from typing import Final

from barnabas.coordinator.group.modern.partitions import StoredTopicPartitions
from barnabas.coordinator.group.record_format import RecordFormat
from barnabas.wire.entities import (
    array,
    array_of,
    bytes_field,
    int8,
    int32,
    int64,
    kafka_entity,
    string,
    uuid_field,
)
from barnabas.wire.entity_versions import versions


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

    present: int = int8(1)
    """Kafka's mark that a tagged struct which may be null is not null; kio knows no such structs."""
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
    classic_member_metadata: StoredClassicMember = array(None, tag=0)


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
    RecordFormat(5, ConsumerGroupMemberMetadataKey, StoredMemberMetadata),
    RecordFormat(6, ConsumerGroupTargetAssignmentMetadataKey, StoredTargetEpoch),
    RecordFormat(7, ConsumerGroupTargetAssignmentMemberKey, StoredTarget),
    RecordFormat(8, ConsumerGroupCurrentMemberAssignmentKey, StoredCurrentAssignment),
    RecordFormat(16, ConsumerGroupRegularExpressionKey, StoredRegularExpression),
)
