"""Decides CreatePartitions requests: the number of partitions can only grow."""

from collections import Counter

from barnabas.controller.decisions.decision import Decision, Outcome, Spend, check_record_count, unlimited
from barnabas.controller.decisions.placement import check_manual, new_partitions, place
from barnabas.controller.decisions.topic_names import is_reserved
from barnabas.env import Random
from barnabas.metadata.image import ClusterImage
from barnabas.metadata.records import PartitionRecord
from barnabas.wire.errors import (
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidRequest,
    KafkaError,
    UnknownTopicOrPartition,
)
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic


def decide_create_partitions(
    image: ClusterImage, request: CreatePartitionsRequest, *, rng: Random, spend: Spend = unlimited
) -> Decision[list[Outcome]]:
    """Returns the outcome of each topic."""
    records: list[PartitionRecord] = []
    outcomes: list[Outcome] = []
    occurrences = Counter(topic.name for topic in request.topics)
    for topic in request.topics:
        try:
            if occurrences[topic.name] > 1:
                raise InvalidRequest("Duplicate topic name.")
            records += _grow(image, topic, rng, len(records), spend)
        except KafkaError as error:
            outcomes.append(error)
        else:
            outcomes.append(None)
    return Decision(() if request.validate_only else tuple(records), outcomes)


def _grow(
    image: ClusterImage, topic: CreatePartitionsTopic, rng: Random, records_before: int, spend: Spend
) -> list[PartitionRecord]:
    known = image.topics.by_name.get(topic.name)
    if known is None:
        raise UnknownTopicOrPartition("This server does not host this topic-partition.")
    if is_reserved(topic.name):
        raise InvalidRequest(f"The partitions of internal topic {topic.name} can't be added to.")
    current = len(known.partitions)
    if topic.count == current:
        raise InvalidPartitions(f"Topic already has {current} partition(s).")
    if topic.count < current:
        raise InvalidPartitions(
            f"The topic {topic.name} currently has {current} partition(s); {topic.count} would not be an increase."
        )
    additional = topic.count - current
    check_record_count(records_before + additional)
    factor = len(known.partitions[0].replicas)
    if topic.assignments is None:
        assignments = place(image, additional, factor, rng)
    else:
        if len(topic.assignments) != additional:
            raise InvalidReplicaAssignment(
                f"Attempted to add {additional} additional partition(s), but only {len(topic.assignments)}"
                " assignment(s) were specified."
            )
        assignments = tuple(assignment.broker_ids for assignment in topic.assignments)
        for replicas in assignments:
            check_manual(image, replicas, factor)
    spend(additional)
    return new_partitions(image, known.id, current, assignments)
