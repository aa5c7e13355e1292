"""Records of topics and their partitions."""

import uuid
from typing import Final

from barnabas.wire.schema import Message, array, int8, int32, since, string, uuid_field

NO_LEADER: Final = -1
NO_LEADER_CHANGE: Final = -2

NO_ID: Final = uuid.UUID(int=0)
"""The default of an id that is not set. No topic has this id."""


class TopicRecord(Message, versions=(0, 0), flexible_since=0):
    name: str = string()
    topic_id: uuid.UUID = uuid_field(NO_ID)


class RemoveTopicRecord(Message, versions=(0, 0), flexible_since=0):
    """Deletes the topic with its partitions and configs."""

    topic_id: uuid.UUID = uuid_field(NO_ID)


class PartitionRecord(Message, versions=(0, 2), flexible_since=0):
    partition_id: int = int32(-1)
    topic_id: uuid.UUID = uuid_field(NO_ID)
    replicas: tuple[int, ...] = array("int32")
    """In order of preference: the first is the preferred leader."""
    isr: tuple[int, ...] = array("int32")
    removing_replicas: tuple[int, ...] = array("int32")
    adding_replicas: tuple[int, ...] = array("int32")
    leader: int = int32(NO_LEADER)
    leader_recovery_state: int = int8(0, tag=0)
    """1 while the partition recovers from an unclean election."""
    leader_epoch: int = int32(-1)
    partition_epoch: int = int32(-1)
    """Increases with every change of the partition."""
    directories: tuple[uuid.UUID | None, ...] = since(1, array("uuid"))
    """The log directory of each replica, in the order of `replicas`. None (zero on the wire) is Kafka's MIGRATING."""
    eligible_leader_replicas: tuple[int, ...] | None = array("int32", None, tag=1)
    last_known_elr: tuple[int, ...] | None = array("int32", None, tag=2)


class PartitionChangeRecord(Message, versions=(0, 2), flexible_since=0):
    """Changes of a partition. None (for the leader -2, for the recovery state -1) means no change."""

    partition_id: int = int32(-1)
    topic_id: uuid.UUID = uuid_field(NO_ID)
    isr: tuple[int, ...] | None = array("int32", None, tag=0)
    leader: int = int32(NO_LEADER_CHANGE, tag=1)
    replicas: tuple[int, ...] | None = array("int32", None, tag=2)
    removing_replicas: tuple[int, ...] | None = array("int32", None, tag=3)
    adding_replicas: tuple[int, ...] | None = array("int32", None, tag=4)
    leader_recovery_state: int = int8(-1, tag=5)
    eligible_leader_replicas: tuple[int, ...] | None = array("int32", None, tag=6)
    last_known_elr: tuple[int, ...] | None = array("int32", None, tag=7)
    directories: tuple[uuid.UUID | None, ...] | None = array("uuid", None, tag=8)


class ClearElrRecord(Message, versions=(0, 0), flexible_since=0):
    """Clear the eligible leader replicas of one topic, or of all topics if the name is empty."""

    topic_name: str = string()
