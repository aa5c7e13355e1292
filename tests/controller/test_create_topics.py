"""CreateTopics: names, partitions, replicas, configs, and the answer of version 7."""

import random

import pytest
from cluster_images import applied, cluster, code_of, create, created, topic, with_topics

from barnabas.controller.decisions.create_topics import decide_create_topics, new_topic_id
from barnabas.metadata.configs import BrokerConfigs, ConfigSource
from barnabas.metadata.image import TOPIC
from barnabas.metadata.records import ConfigRecord, PartitionRecord, TopicRecord
from barnabas.wire.errors import ErrorCode, InvalidReplicationFactor, InvalidTopic
from barnabas.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest


def errors(image: object, *topics: CreatableTopic) -> list[ErrorCode]:
    decision = create(image, *topics)  # type: ignore[arg-type]
    return [code_of(outcome) for outcome in decision.response]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "longer than the max allowed length 249"),
        ("a b", "contains one or more characters"),
        ("ä", "contains one or more characters"),
        ("a/b", "contains one or more characters"),
        ("a\n", "contains one or more characters"),
    ],
)
def test_a_bad_name_is_refused_with_the_reason(name: str, reason: str) -> None:
    [outcome] = create(cluster(), topic(name)).response
    assert isinstance(outcome, InvalidTopic)
    assert reason in str(outcome)


def test_the_longest_name_is_accepted() -> None:
    assert errors(cluster(), topic("x" * 249)) == [ErrorCode.none]


def test_a_topic_is_made_of_records_in_kafkas_order() -> None:
    decision = create(cluster(1), topic("t", 2, 1, retention_ms="5"))
    made, config, *partitions = decision.records
    assert isinstance(made, TopicRecord)
    assert config == ConfigRecord(resource_type=TOPIC, resource_name="t", name="retention.ms", value="5")
    assert [record.partition_id for record in partitions if isinstance(record, PartitionRecord)] == [0, 1]
    image = applied(cluster(1), decision)
    assert image.topics.by_name["t"].id == made.topic_id
    partition = image.topics.by_name["t"].partitions[0]
    assert (partition.leader, partition.isr, partition.leader_epoch) == (1, (1,), 0)
    assert partition.directories == image.brokers[1].directories


def test_defaults_come_from_the_broker() -> None:
    configs = BrokerConfigs(static={"num.partitions": "3", "default.replication.factor": "2"})
    topic_created = created(create(cluster(1, 2), topic("t"), configs=configs))
    assert (topic_created.partition_count, topic_created.replication_factor) == (3, 2)


def test_the_answer_shows_every_config_and_its_source() -> None:
    configs = BrokerConfigs(static={"log.retention.ms": "3600000"})
    topic_created = created(create(cluster(), topic("t", max_message_bytes="99"), configs=configs))
    shown = {name: (config.value, config.source) for name, config in topic_created.configs.items()}
    assert len(shown) == 33
    assert list(shown) == sorted(shown)
    assert shown["max.message.bytes"] == ("99", ConfigSource.TOPIC)
    assert shown["retention.ms"] == ("3600000", ConfigSource.STATIC_BROKER)
    assert shown["cleanup.policy"] == ("delete", ConfigSource.DEFAULT)


def test_what_exists_or_collides_or_is_the_brokers_is_refused() -> None:
    image = with_topics(cluster(), topic("a.b"), topic("plain"))
    assert errors(image, topic("a.b")) == [ErrorCode.topic_already_exists]
    assert errors(image, topic("a_b")) == [ErrorCode.invalid_topic_exception]
    assert errors(image, topic("c.d"), topic("c_d")) == [ErrorCode.none, ErrorCode.invalid_topic_exception]
    assert errors(image, topic("twice"), topic("twice")) == [ErrorCode.invalid_request] * 2
    assert errors(image, topic("__consumer_offsets")) == [ErrorCode.invalid_request]
    assert errors(image, topic("__cluster_metadata")) == [ErrorCode.invalid_request]


def test_the_broker_may_create_its_own_topics() -> None:
    request = CreateTopicsRequest(topics=(topic("__consumer_offsets", 2, 1),))
    decision = decide_create_topics(cluster(), request, configs=BrokerConfigs(), rng=random.Random(1), for_broker=True)
    created(decision)


def test_one_faulty_topic_leaves_the_others_alone() -> None:
    decision = create(cluster(), topic("good"), topic("bad", 0), topic("fine"))
    assert [code_of(outcome) for outcome in decision.response] == [
        ErrorCode.none,
        ErrorCode.invalid_partitions,
        ErrorCode.none,
    ]
    assert set(applied(cluster(), decision).topics.by_name) == {"good", "fine"}


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (topic("t", 0, 1), ErrorCode.invalid_partitions),
        (topic("t", -2, 1), ErrorCode.invalid_partitions),
        (topic("t", 2**31 - 1, 1), ErrorCode.policy_violation),
        (topic("t", 10_001, 1), ErrorCode.policy_violation),
        (topic("t", 1, 0), ErrorCode.invalid_replication_factor),
        (topic("t", 1, -3), ErrorCode.invalid_replication_factor),
        (topic("t", 1, 3), ErrorCode.invalid_replication_factor),
        (topic("t", retention_ms=None), ErrorCode.invalid_config),
        (topic("t", retention_ms="soon"), ErrorCode.invalid_config),
        (topic("t", no_such_config="1"), ErrorCode.invalid_config),
        (topic("t", assignments=[(1,), ()]), ErrorCode.invalid_replica_assignment),
        (topic("t", assignments=[(1,), (1, 2)]), ErrorCode.invalid_replica_assignment),
        (topic("t", assignments=[(1, 1)]), ErrorCode.invalid_replica_assignment),
        (topic("t", assignments=[(9,)]), ErrorCode.invalid_replica_assignment),
        (topic("t", 1, -1, assignments=[(1,)]), ErrorCode.invalid_request),
        (topic("t", -1, 1, assignments=[(1,)]), ErrorCode.invalid_request),
        (topic("t", assignments=[(1, 2), (2, 1)]), ErrorCode.none),
    ],
)
def test_partitions_replicas_and_configs_are_checked(wanted: CreatableTopic, code: ErrorCode) -> None:
    assert errors(cluster(1, 2), wanted) == [code]


@pytest.mark.parametrize("indexes", [(0, 0), (1, 2), (0, 2)])
def test_manual_assignments_must_name_each_partition_once(indexes: tuple[int, ...]) -> None:
    wanted = CreatableTopic(
        name="t",
        num_partitions=-1,
        replication_factor=-1,
        assignments=tuple(CreatableReplicaAssignment(partition_index=i, broker_ids=(1,)) for i in indexes),
    )
    assert errors(cluster(1), wanted) == [ErrorCode.invalid_replica_assignment]


def test_validate_only_answers_and_writes_nothing() -> None:
    decision = create(cluster(), topic("t", 4), validate_only=True)
    assert created(decision).partition_count == 4
    assert decision.records == ()


def test_leaders_are_spread_over_the_brokers() -> None:
    image = with_topics(cluster(1, 2, 3), topic("t", 6, 2))
    partitions = image.topics.by_name["t"].partitions.values()
    assert sorted(partition.leader for partition in partitions) == [1, 1, 2, 2, 3, 3]
    assert all(len(set(partition.replicas)) == 2 for partition in partitions)


def test_no_broker_no_topic() -> None:
    from barnabas.metadata.image import EMPTY_IMAGE

    [outcome] = create(EMPTY_IMAGE, topic("t")).response
    assert isinstance(outcome, InvalidReplicationFactor)
    assert "All brokers are currently fenced" in str(outcome)


def test_topic_ids_never_look_like_options() -> None:
    import base64

    rng = random.Random(3)
    ids = [new_topic_id(rng) for _ in range(2000)]
    assert not any(base64.urlsafe_b64encode(topic_id.bytes).startswith(b"-") for topic_id in ids)
