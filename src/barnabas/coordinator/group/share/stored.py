"""The records of a share group, as Kafka stores them.

ShareGroupMetadata            the group epoch, and the hash of the topics subscribed to
ShareGroupMemberMetadata      who a member is, and what it subscribes to
ShareGroupTargetAssignment... what each member shall have, and the group epoch this was computed for
ShareGroupCurrentMember...    what a member has, and the epoch it has come to
ShareGroupStatePartition...   which partitions are being, or have been given a state, and which are losing it
"""

import uuid
from typing import Final

from barnabas.coordinator.group.modern.partitions import StoredTopicPartitions
from barnabas.coordinator.group.record_format import RecordFormat
from barnabas.wire.entities import array, array_of, int8, int32, int64, kafka_entity, string, uuid_field
from barnabas.wire.entity_versions import versions


@kafka_entity(version=0, flexible=False)
class ShareGroupMemberMetadataKey:
    group_id: str = string()
    member_id: str = string()


@versions(0, 0, flexible_since=0)
class StoredShareMember:
    rack_id: str | None = string(None)
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: tuple[str, ...] = array_of("string")


@kafka_entity(version=0, flexible=False)
class ShareGroupMetadataKey:
    group_id: str = string()


@versions(0, 0, flexible_since=0)
class StoredShareGroupEpoch:
    epoch: int = int32()
    metadata_hash: int = int64()


@kafka_entity(version=0, flexible=False)
class ShareGroupTargetAssignmentMetadataKey:
    group_id: str = string()


@versions(0, 0, flexible_since=0)
class StoredShareTargetEpoch:
    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0)


@kafka_entity(version=0, flexible=False)
class ShareGroupTargetAssignmentMemberKey:
    group_id: str = string()
    member_id: str = string()


@versions(0, 0, flexible_since=0)
class StoredShareTarget:
    topic_partitions: tuple[StoredTopicPartitions, ...] = array()


@kafka_entity(version=0, flexible=False)
class ShareGroupCurrentMemberAssignmentKey:
    group_id: str = string()
    member_id: str = string()


@versions(0, 0, flexible_since=0)
class StoredShareAssignment:
    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: tuple[StoredTopicPartitions, ...] = array()


@kafka_entity(version=0, flexible=False)
class ShareGroupStatePartitionMetadataKey:
    group_id: str = string()


@versions(0, 0, flexible_since=0)
class StoredStateTopic:
    topic_id: uuid.UUID | None = uuid_field()
    topic_name: str = string()
    partitions: tuple[int, ...] = array_of("int32")


@versions(0, 0, flexible_since=0)
class StoredTopicName:
    topic_id: uuid.UUID | None = uuid_field()
    topic_name: str = string()


@versions(0, 0, flexible_since=0)
class StoredStateTopics:
    initializing_topics: tuple[StoredStateTopic, ...] = array()
    initialized_topics: tuple[StoredStateTopic, ...] = array()
    deleting_topics: tuple[StoredTopicName, ...] = array()


SHARE_FORMATS: Final = (
    RecordFormat(10, ShareGroupMemberMetadataKey, StoredShareMember),
    RecordFormat(11, ShareGroupMetadataKey, StoredShareGroupEpoch),
    RecordFormat(12, ShareGroupTargetAssignmentMetadataKey, StoredShareTargetEpoch),
    RecordFormat(13, ShareGroupTargetAssignmentMemberKey, StoredShareTarget),
    RecordFormat(14, ShareGroupCurrentMemberAssignmentKey, StoredShareAssignment),
    RecordFormat(15, ShareGroupStatePartitionMetadataKey, StoredStateTopics),
)
