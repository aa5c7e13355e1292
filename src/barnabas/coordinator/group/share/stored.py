"""The records of a share group, as Kafka stores them.

ShareGroupMetadata            the group epoch, and the hash of the topics subscribed to
ShareGroupMemberMetadata      the ids of a member, and its subscription
ShareGroupTargetAssignment... the target of each member, and the group epoch it was computed for
ShareGroupCurrentMember...    the epoch and the partitions of a member
ShareGroupStatePartition...   which partitions have a state, are getting one, or are losing it
"""

import uuid
from typing import Final

from barnabas.coordinator.group.common.partitions import StoredTopicPartitions
from barnabas.coordinator.group.common.record_format import RecordFormat
from barnabas.wire.schema import Message, array, int8, int32, int64, string, uuid_field


class ShareGroupMemberMetadataKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()
    member_id: str = string()


class StoredShareMember(Message, versions=(0, 0), flexible_since=0):
    rack_id: str | None = string(None)
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: tuple[str, ...] = array("string")


class ShareGroupMetadataKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()


class StoredShareGroupEpoch(Message, versions=(0, 0), flexible_since=0):
    epoch: int = int32()
    metadata_hash: int = int64()


class ShareGroupTargetAssignmentMetadataKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()


class StoredShareTargetEpoch(Message, versions=(0, 0), flexible_since=0):
    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0)


class ShareGroupTargetAssignmentMemberKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()
    member_id: str = string()


class StoredShareTarget(Message, versions=(0, 0), flexible_since=0):
    topic_partitions: tuple[StoredTopicPartitions, ...] = array(StoredTopicPartitions)


class ShareGroupCurrentMemberAssignmentKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()
    member_id: str = string()


class StoredShareAssignment(Message, versions=(0, 0), flexible_since=0):
    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: tuple[StoredTopicPartitions, ...] = array(StoredTopicPartitions)


class ShareGroupStatePartitionMetadataKey(Message, versions=(0, 0), flexible_since=1):
    group_id: str = string()


class StoredStateTopic(Message, versions=(0, 0), flexible_since=0):
    topic_id: uuid.UUID | None = uuid_field()
    topic_name: str = string()
    partitions: tuple[int, ...] = array("int32")


class StoredTopicName(Message, versions=(0, 0), flexible_since=0):
    topic_id: uuid.UUID | None = uuid_field()
    topic_name: str = string()


class StoredStateTopics(Message, versions=(0, 0), flexible_since=0):
    initializing_topics: tuple[StoredStateTopic, ...] = array(StoredStateTopic)
    initialized_topics: tuple[StoredStateTopic, ...] = array(StoredStateTopic)
    deleting_topics: tuple[StoredTopicName, ...] = array(StoredTopicName)


SHARE_FORMATS: Final = (
    RecordFormat(10, ShareGroupMemberMetadataKey, StoredShareMember),
    RecordFormat(11, ShareGroupMetadataKey, StoredShareGroupEpoch),
    RecordFormat(12, ShareGroupTargetAssignmentMetadataKey, StoredShareTargetEpoch),
    RecordFormat(13, ShareGroupTargetAssignmentMemberKey, StoredShareTarget),
    RecordFormat(14, ShareGroupCurrentMemberAssignmentKey, StoredShareAssignment),
    RecordFormat(15, ShareGroupStatePartitionMetadataKey, StoredStateTopics),
)
