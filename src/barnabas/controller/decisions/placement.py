"""Places the replicas of new partitions.

Round robin over the registered brokers from a random start, so that leaders and followers spread evenly. Live brokers
come first, and one of them must lead. Racks are not taken into account yet.
"""

import uuid
from collections.abc import Sequence

from barnabas.env import Random
from barnabas.metadata.image import DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED, ClusterImage
from barnabas.metadata.records import PartitionRecord
from barnabas.wire.errors import InvalidReplicaAssignment, InvalidReplicationFactor

Assignment = tuple[int, ...]
"""Broker ids in order of preference."""


def place(image: ClusterImage, partition_count: int, replication_factor: int, rng: Random) -> tuple[Assignment, ...]:
    alive = sorted(active_brokers(image))
    fenced = sorted(set(image.brokers) - set(alive))
    problem = None
    if not alive:
        problem = "All brokers are currently fenced."
    elif replication_factor > len(alive) + len(fenced):
        problem = (
            f"The target replication factor of {replication_factor} cannot be reached because only"
            f" {len(alive) + len(fenced)} broker(s) are registered."
        )
    if problem:
        raise InvalidReplicationFactor(f"Unable to replicate the partition {replication_factor} time(s): {problem}")
    start = rng.randrange(len(alive))
    rotations = [tuple(alive[turn:] + alive[:turn]) + tuple(fenced) for turn in range(len(alive))]
    return tuple(rotations[(start + index) % len(alive)][:replication_factor] for index in range(partition_count))


def check_manual(image: ClusterImage, replicas: Assignment, replication_factor: int | None) -> None:
    """Raises InvalidReplicaAssignment. `replication_factor`: that of the topic's other partitions."""
    subject = "The manual partition assignment includes"
    if not replicas:
        raise InvalidReplicaAssignment(f"{subject} an empty replica list.")
    for broker_id in sorted(set(replicas)):
        if broker_id not in image.brokers:
            raise InvalidReplicaAssignment(f"{subject} broker {broker_id}, but no such broker is registered.")
        if replicas.count(broker_id) > 1:
            raise InvalidReplicaAssignment(f"{subject} the broker {broker_id} more than once.")
    if replication_factor is not None and len(replicas) != replication_factor:
        raise InvalidReplicaAssignment(
            f"{subject} a partition with {len(replicas)} replica(s), but this is not consistent with previous"
            f" partitions, which have {replication_factor} replica(s)."
        )
    if not set(replicas) & active_brokers(image):
        raise InvalidReplicaAssignment(
            f"All brokers specified in the manual partition assignment {list(replicas)} are fenced or in controlled"
            " shutdown."
        )


def new_partitions(
    image: ClusterImage, topic_id: uuid.UUID, first: int, assignments: Sequence[Assignment]
) -> list[PartitionRecord]:
    """Records of new partitions: every live replica is in sync, and the first of them leads."""
    active = active_brokers(image)
    records = []
    # Thousands of partitions share a handful of different assignments.
    facts: dict[Assignment, tuple[Assignment, tuple[uuid.UUID, ...]]] = {}
    for index, replicas in enumerate(assignments, start=first):
        if replicas not in facts:
            isr = tuple(broker_id for broker_id in replicas if broker_id in active)
            facts[replicas] = isr, tuple(directory_on(image, broker_id) for broker_id in replicas)
        isr, directories = facts[replicas]
        records.append(
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=replicas,
                isr=isr,
                leader=isr[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=directories,
            )
        )
    return records


def active_brokers(image: ClusterImage) -> set[int]:
    return {broker.id for broker in image.brokers.values() if not broker.fenced and not broker.in_controlled_shutdown}


def directory_on(image: ClusterImage, broker_id: int) -> uuid.UUID:
    """The directory of a broker that has only one; a broker with several chooses when it creates the replica."""
    directories = image.brokers[broker_id].directories
    if not directories:
        return DIRECTORY_MIGRATING
    return directories[0] if len(directories) == 1 else DIRECTORY_UNASSIGNED
