"""DeleteTopics and CreatePartitions."""

import random
import uuid

import pytest
from cluster_images import applied, cluster, code_of, topic, with_topics

from barnabas.controller.decisions.create_partitions import decide_create_partitions
from barnabas.controller.decisions.delete_topics import decide_delete_topics
from barnabas.controller.decisions.topic_names import MetricNames, is_reserved, why_invalid
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.image import TOPIC, ClusterImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState


def test_topics_are_deleted_by_name_and_by_id_with_their_configs() -> None:
    image = with_topics(cluster(), topic("a", retention_ms="5"), topic("b"), topic("c"))
    request = DeleteTopicsRequest(topics=(DeleteTopicState(topic_id=image.topics.by_name["b"].id),), topic_names=("a",))
    decision = decide_delete_topics(image, request, configs=BrokerConfigs())
    assert decision.response == [image.topics.by_name["a"], image.topics.by_name["b"]]
    after = applied(image, decision)
    assert set(after.topics.by_name) == {"c"}
    assert not after.configs.of(TOPIC, "a")


def test_a_faulty_deletion_leaves_the_others_alone() -> None:
    image = with_topics(cluster(), topic("a"), topic("b"))
    known = image.topics.by_name["a"].id
    request = DeleteTopicsRequest(
        topics=(
            DeleteTopicState(name="nope"),
            DeleteTopicState(topic_id=uuid.UUID(int=9)),
            DeleteTopicState(),
            DeleteTopicState(name="a", topic_id=known),
            DeleteTopicState(name="x"),
            DeleteTopicState(name="x"),
            DeleteTopicState(name="b"),
        )
    )
    decision = decide_delete_topics(image, request, configs=BrokerConfigs())
    assert [code_of(outcome) for outcome in decision.response] == [
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.unknown_topic_id,
        ErrorCode.invalid_request,
        ErrorCode.invalid_request,
        ErrorCode.invalid_request,
        ErrorCode.invalid_request,
        ErrorCode.none,
    ]
    assert set(applied(image, decision).topics.by_name) == {"a"}


def test_a_topic_named_twice_in_different_ways_is_deleted_once() -> None:
    image = with_topics(cluster(), topic("a"))
    request = DeleteTopicsRequest(
        topics=(DeleteTopicState(topic_id=image.topics.by_name["a"].id), DeleteTopicState(name="a"))
    )
    decision = decide_delete_topics(image, request, configs=BrokerConfigs())
    assert [code_of(outcome) for outcome in decision.response] == [ErrorCode.none, ErrorCode.invalid_request]
    assert len(decision.records) == 1


def test_deletion_can_be_switched_off() -> None:
    image = with_topics(cluster(), topic("a"))
    configs = BrokerConfigs(static={"delete.topic.enable": "false"})
    decision = decide_delete_topics(image, DeleteTopicsRequest(topic_names=("a",)), configs=configs)
    assert code_of(decision.response[0]) is ErrorCode.topic_deletion_disabled
    assert decision.records == ()


def grow(
    image: ClusterImage, count: int, assignments: list[tuple[int, ...]] | None = None, *, validate_only: bool = False
) -> tuple[ErrorCode, ClusterImage]:
    wanted = CreatePartitionsTopic(
        name="t",
        count=count,
        assignments=None
        if assignments is None
        else tuple(CreatePartitionsAssignment(broker_ids=broker_ids) for broker_ids in assignments),
    )
    request = CreatePartitionsRequest(topics=(wanted,), validate_only=validate_only)
    decision = decide_create_partitions(image, request, rng=random.Random(1))
    return code_of(decision.response[0]), applied(image, decision)


def test_partitions_only_grow() -> None:
    image = with_topics(cluster(1, 2), topic("t", 2, 1))
    old = image.topics.by_name["t"].partitions
    code, after = grow(image, 5)
    assert code is ErrorCode.none
    assert list(after.topics.by_name["t"].partitions) == [0, 1, 2, 3, 4]
    assert all(after.topics.by_name["t"].partitions[index] is old[index] for index in old)
    assert grow(image, 2)[0] is ErrorCode.invalid_partitions
    assert grow(image, 1)[0] is ErrorCode.invalid_partitions
    assert grow(image, -1)[0] is ErrorCode.invalid_partitions
    assert grow(image, 2**31 - 1)[0] is ErrorCode.policy_violation
    assert grow(cluster(), 2)[0] is ErrorCode.unknown_topic_or_partition
    assert grow(image, 3, validate_only=True) == (ErrorCode.none, image)


@pytest.mark.parametrize(
    ("assignments", "code"),
    [
        ([(2,)], ErrorCode.none),
        ([], ErrorCode.invalid_replica_assignment),
        ([(1,), (2,)], ErrorCode.invalid_replica_assignment),
        ([(1, 2)], ErrorCode.invalid_replica_assignment),
        ([(7,)], ErrorCode.invalid_replica_assignment),
    ],
)
def test_new_partitions_may_be_assigned_by_hand(assignments: list[tuple[int, ...]], code: ErrorCode) -> None:
    image = with_topics(cluster(1, 2), topic("t", 2, 1))
    result, after = grow(image, 3, assignments)
    assert result is code
    if code is ErrorCode.none:
        assert after.topics.by_name["t"].partitions[2].replicas == (2,)


def test_a_topic_may_be_named_once() -> None:
    image = with_topics(cluster(), topic("t", 1))
    wanted = CreatePartitionsTopic(name="t", count=3)
    decision = decide_create_partitions(image, CreatePartitionsRequest(topics=(wanted, wanted)), rng=random.Random(1))
    assert [code_of(outcome) for outcome in decision.response] == [ErrorCode.invalid_request] * 2
    assert decision.records == ()


def test_names() -> None:
    assert why_invalid("ok-1._") is None
    assert is_reserved("__consumer_offsets")
    assert MetricNames(["a_b"], ["a.b"]).other("a.b") == "a_b"
    assert MetricNames(["a.b", "ab"], ["a.b"]).other("a.b") is None
    assert MetricNames(["plain"], ["plain"]).other("plain") is None
    names = MetricNames([], ["a.b", "a_b"])
    names.add("a.b")
    assert names.other("a_b") == "a.b"
