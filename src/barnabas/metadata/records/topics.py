"""Records about topics and their partitions."""

import uuid
from typing import Final

from barnabas.wire.entities import array_of, int8, int32, kafka_entity, string, uuid_field

NO_LEADER: Final = -1
NO_LEADER_CHANGE: Final = -2

NO_ID: Final = uuid.UUID(int=0)
"""What an id is before it is given one. Kafka gives no topic this id."""


@kafka_entity(version=0, flexible=True)
class TopicRecord:
    name: str = string()
    topic_id: uuid.UUID = uuid_field(NO_ID)


@kafka_entity(version=0, flexible=True)
class RemoveTopicRecord:
    """The topic, its partitions and its configs go."""

    topic_id: uuid.UUID = uuid_field(NO_ID)


@kafka_entity(version=2, flexible=True)
class PartitionRecord:
    partition_id: int = int32(-1)
    topic_id: uuid.UUID = uuid_field(NO_ID)
    replicas: tuple[int, ...] = array_of("int32")
    """In order of preference: the first is the preferred leader."""
    isr: tuple[int, ...] = array_of("int32")
    removing_replicas: tuple[int, ...] = array_of("int32")
    adding_replicas: tuple[int, ...] = array_of("int32")
    leader: int = int32(NO_LEADER)
    leader_recovery_state: int = int8(0, tag=0)
    """1 while the partition recovers from an unclean election."""
    leader_epoch: int = int32(-1)
    partition_epoch: int = int32(-1)
    """Grows with every change of the partition."""
    directories: tuple[uuid.UUID | None, ...] = array_of("uuid")
    """Where each replica lives, in the order of `replicas`. The wire's zero, read as None, is Kafka's MIGRATING."""
    eligible_leader_replicas: tuple[int, ...] | None = array_of("int32", None, tag=1)
    last_known_elr: tuple[int, ...] | None = array_of("int32", None, tag=2)


@kafka_entity(version=2, flexible=True)
class PartitionChangeRecord:
    """What changed in a partition. None (and for the leader -2, for the recovery state -1) means: no change."""

    partition_id: int = int32(-1)
    topic_id: uuid.UUID = uuid_field(NO_ID)
    isr: tuple[int, ...] | None = array_of("int32", None, tag=0)
    leader: int = int32(NO_LEADER_CHANGE, tag=1)
    replicas: tuple[int, ...] | None = array_of("int32", None, tag=2)
    removing_replicas: tuple[int, ...] | None = array_of("int32", None, tag=3)
    adding_replicas: tuple[int, ...] | None = array_of("int32", None, tag=4)
    leader_recovery_state: int = int8(-1, tag=5)
    eligible_leader_replicas: tuple[int, ...] | None = array_of("int32", None, tag=6)
    last_known_elr: tuple[int, ...] | None = array_of("int32", None, tag=7)
    directories: tuple[uuid.UUID | None, ...] | None = array_of("uuid", None, tag=8)


@kafka_entity(version=0, flexible=True)
class ClearElrRecord:
    """Forget the eligible leader replicas of one topic, or of all topics where the name is empty."""

    topic_name: str = string()
