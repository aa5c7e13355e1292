"""Decides AlterPartitionReassignments requests: moves partitions to other brokers.

A change that only removes replicas, or changes their order, takes effect at once. New replicas are added to the old
ones, and the old ones are removed when the new ones have caught up; until then the reassignment can be cancelled.
"""

import uuid

from barnabas.controller.decisions.decision import Decision, Outcome, check_record_count
from barnabas.controller.decisions.placement import check_manual, directory_on
from barnabas.metadata.image import ClusterImage, PartitionImage
from barnabas.metadata.records import PartitionChangeRecord
from barnabas.wire.errors import (
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    KafkaError,
    NoReassignmentInProgress,
    UnknownTopicOrPartition,
)
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
)


def decide_alter_partition_reassignments(
    image: ClusterImage, request: AlterPartitionReassignmentsRequest
) -> Decision[list[list[Outcome]]]:
    """Returns the outcomes of each topic's partitions."""
    records: list[PartitionChangeRecord] = []
    topics: list[list[Outcome]] = []
    for topic in request.topics:
        outcomes: list[Outcome] = []
        for wanted in topic.partitions:
            try:
                change = _change(image, topic.name, wanted, keep_factor=not request.allow_replication_factor_change)
                if change is not None:
                    check_record_count(len(records) + 1)
                    records.append(change)
            except KafkaError as error:
                outcomes.append(error)
            else:
                outcomes.append(None)
        topics.append(outcomes)
    return Decision(tuple(records), topics)


def _change(
    image: ClusterImage, topic: str, wanted: ReassignablePartition, *, keep_factor: bool
) -> PartitionChangeRecord | None:
    found = image.topics.by_name.get(topic)
    if found is None:
        raise UnknownTopicOrPartition(f"Unable to find a topic named {topic}.")
    partition = found.partitions.get(wanted.partition_index)
    if partition is None:
        raise UnknownTopicOrPartition(f"Unable to find partition {topic}:{wanted.partition_index}.")
    if wanted.replicas is None:
        return _cancel(found.id, wanted.partition_index, partition)
    check_manual(image, wanted.replicas, None)
    settled = _settled(partition)
    if keep_factor and len(settled) != len(wanted.replicas):
        raise InvalidReplicationFactor(
            f"The replication factor is changed from {len(settled)} to {len(wanted.replicas)}"
        )
    return _move(image, found.id, wanted.partition_index, partition, wanted.replicas)


def _settled(partition: PartitionImage) -> tuple[int, ...]:
    """The replicas before the reassignment in progress, if there is one."""
    return tuple(replica for replica in partition.replicas if replica not in partition.adding_replicas)


def _cancel(topic_id: uuid.UUID, index: int, partition: PartitionImage) -> PartitionChangeRecord:
    if not partition.adding_replicas and not partition.removing_replicas:
        raise NoReassignmentInProgress
    replicas = _settled(partition)
    isr = tuple(replica for replica in partition.isr if replica in replicas)
    if not isr:
        raise InvalidReplicaAssignment(
            "Unable to revert partition assignment because it would require an unclean leader election."
        )
    directories = tuple(partition.directory_of(replica) for replica in replicas)
    change = PartitionChangeRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=replicas,
        directories=directories,
        isr=isr,
        adding_replicas=(),
        removing_replicas=(),
    )
    return change if partition.leader in isr else _led_by(change, isr[0])


def _move(
    image: ClusterImage, topic_id: uuid.UUID, index: int, partition: PartitionImage, target: tuple[int, ...]
) -> PartitionChangeRecord | None:
    settled = _settled(partition)
    adding = tuple(replica for replica in target if replica not in settled)
    removing = tuple(replica for replica in settled if replica not in target)
    isr = tuple(replica for replica in partition.isr if replica in target)
    done = not adding and bool(isr)
    replicas = target if done else target + removing
    if replicas == partition.replicas and not partition.adding_replicas and not partition.removing_replicas:
        return None
    directories = tuple(
        partition.directory_of(replica) if replica in partition.replicas else directory_on(image, replica)
        for replica in replicas
    )
    change = PartitionChangeRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=replicas,
        directories=directories,
        isr=isr if done and isr != partition.isr else None,
        adding_replicas=() if done else adding,
        removing_replicas=() if done else removing,
    )
    return _led_by(change, isr[0]) if done and partition.leader not in isr else change


def _led_by(change: PartitionChangeRecord, leader: int) -> PartitionChangeRecord:
    return change.replace(leader=leader)
