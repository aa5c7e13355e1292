"""Decides CreateTopics requests."""

import uuid
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.controller.decisions.decision import Decision, Spend, check_record_count, unlimited
from barnabas.controller.decisions.placement import Assignment, check_manual, new_partitions, place
from barnabas.controller.decisions.topic_names import MetricNames, is_reserved, why_invalid
from barnabas.env import Random
from barnabas.metadata.configs import BrokerConfigs, EffectiveConfig, effective_topic_configs, validate_topic_configs
from barnabas.metadata.image import TOPIC, ClusterImage
from barnabas.metadata.records import ConfigRecord, MetadataRecord, TopicRecord
from barnabas.wire.errors import (
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    KafkaError,
    TopicAlreadyExists,
)
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest


class CreatedTopic(NamedTuple):
    topic_id: uuid.UUID
    partition_count: int
    replication_factor: int
    configs: Mapping[str, EffectiveConfig]
    """All of them, with their sources."""


def decide_create_topics(
    image: ClusterImage,
    request: CreateTopicsRequest,
    *,
    configs: BrokerConfigs,
    rng: Random,
    for_broker: bool = False,
    spend: Spend = unlimited,
) -> Decision[list[CreatedTopic | KafkaError]]:
    """Returns the outcome of each topic. `for_broker`: the broker itself creates an internal topic."""
    records: list[MetadataRecord] = []
    outcomes: list[CreatedTopic | KafkaError] = []
    occurrences = Counter(topic.name for topic in request.topics)
    metric_names = MetricNames(image.topics.by_name, occurrences)
    described: dict[frozenset[tuple[str, str]], Mapping[str, EffectiveConfig]] = {}
    for topic in request.topics:
        try:
            if occurrences[topic.name] > 1:
                raise InvalidRequest("Duplicate topic name.")
            _check_name(image, topic.name, metric_names, for_broker=for_broker)
            overrides = _overrides(topic, configs)
            assignments = _assignments(image, topic, configs, rng)
            check_record_count(len(records) + 1 + len(overrides) + len(assignments))
            spend(len(assignments))
        except KafkaError as error:
            outcomes.append(error)
            continue
        metric_names.add(topic.name)
        topic_id = new_topic_id(rng)
        records.append(TopicRecord(name=topic.name, topic_id=topic_id))
        records += (
            ConfigRecord(resource_type=TOPIC, resource_name=topic.name, name=name, value=value)
            for name, value in overrides.items()
        )
        records += new_partitions(image, topic_id, 0, assignments)
        key = frozenset(overrides.items())
        if key not in described:
            described[key] = effective_topic_configs(overrides, configs)
        outcomes.append(CreatedTopic(topic_id, len(assignments), len(assignments[0]), described[key]))
    return Decision(() if request.validate_only else tuple(records), outcomes)


def new_topic_id(rng: Random) -> uuid.UUID:
    """Random, but without a leading dash in its text, which command lines would take for an option."""
    while True:
        topic_id = uuid.UUID(int=rng.getrandbits(128), version=4)
        if topic_id.bytes[0] >> 2 != 62:  # the dash of base64url
            return topic_id


def _check_name(image: ClusterImage, name: str, metric_names: MetricNames, *, for_broker: bool) -> None:
    if complaint := why_invalid(name):
        raise InvalidTopic(complaint)
    if is_reserved(name) and not for_broker:
        raise InvalidRequest(f"Creation of internal topic {name} is prohibited.")
    if name in image.topics.by_name:
        raise TopicAlreadyExists(f"Topic '{name}' already exists.")
    if other := metric_names.other(name):
        raise InvalidTopic(f"Topic '{name}' collides with existing topic: {other}")


def _overrides(topic: CreatableTopic, configs: BrokerConfigs) -> dict[str, str]:
    nulls = [config.name for config in topic.configs if config.value is None]
    if nulls:
        raise InvalidConfig(f"Null value not supported for topic configs: {','.join(nulls)}")
    overrides = {config.name: config.value for config in topic.configs if config.value is not None}
    validate_topic_configs(overrides, configs)
    return overrides


def _assignments(
    image: ClusterImage, topic: CreatableTopic, configs: BrokerConfigs, rng: Random
) -> tuple[Assignment, ...]:
    if topic.assignments:
        return _manual_assignments(image, topic)
    if topic.replication_factor < -1 or topic.replication_factor == 0:
        raise InvalidReplicationFactor("Replication factor must be larger than 0, or -1 to use the default value.")
    if topic.num_partitions < -1 or topic.num_partitions == 0:
        raise InvalidPartitions("Number of partitions was set to an invalid non-positive value.")
    count = configs.integer("num.partitions") if topic.num_partitions == -1 else topic.num_partitions
    # Checked before the partitions are placed: a tiny request can ask for two billion of them.
    check_record_count(count)
    factor = topic.replication_factor
    return place(image, count, configs.integer("default.replication.factor") if factor == -1 else factor, rng)


def _manual_assignments(image: ClusterImage, topic: CreatableTopic) -> tuple[Assignment, ...]:
    if topic.replication_factor != -1:
        raise InvalidRequest("A manual partition assignment was specified, but replication factor was not set to -1.")
    if topic.num_partitions != -1:
        raise InvalidRequest("A manual partition assignment was specified, but numPartitions was not set to -1.")
    by_index: dict[int, Assignment] = {}
    factor: int | None = None
    for assignment in topic.assignments:
        index = assignment.partition_index
        if index in by_index:
            raise InvalidReplicaAssignment(f"Found multiple manual partition assignments for partition {index}")
        check_manual(image, assignment.broker_ids, factor)
        by_index[index] = assignment.broker_ids
        factor = len(assignment.broker_ids)
    if set(by_index) != set(range(len(by_index))):
        raise InvalidReplicaAssignment("partitions should be a consecutive 0-based integer sequence")
    return tuple(by_index[index] for index in range(len(by_index)))
