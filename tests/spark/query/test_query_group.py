"""A query's group on a real broker: stored offsets, reading them back, refused commits, and what tools show."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place
from followed_pages import Followed

from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.client.group_offsets import commit_offsets, fetch_offsets
from barnabas.client.properties import client_settings
from barnabas.spark.query.group import QueryGroup, start_digest
from barnabas.testing import Broker

LATEST = start_digest({"subscribe": "a topic", "startingOffsets": "latest"})


@pytest.fixture
def cluster(barnabas_broker: Broker) -> Iterator[Cluster]:
    with Cluster(client_settings({"bootstrap.servers": barnabas_broker.bootstrap_servers})) as found:
        yield found


@pytest.fixture
def topic(barnabas_broker: Broker, barnabas_topic: str) -> str:
    barnabas_broker.create_topic(barnabas_topic, partitions=2)
    fill(barnabas_broker, barnabas_topic, 10)
    return barnabas_topic


def fill(broker: Broker, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(2 * count):
        producer.produce(topic, str(number), partition=number % 2)
    assert producer.flush(10) == 0


def group_of(cluster: Cluster, group_id: str, start: str = LATEST) -> QueryGroup:
    return QueryGroup(lambda: cluster, group_id, start=start)


def offsets_in(cluster: Cluster, group_id: str) -> dict[tuple[str, int], int]:
    return {place: one.offset for place, one in fetch_offsets(cluster, group_id, None).items()}


@contextmanager
def live_member(broker: Broker, group_id: str, topic: str, protocol: str) -> Iterator[None]:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": group_id, "group.protocol": protocol}
    )
    try:
        consumer.subscribe([topic])
        for _ in range(100):
            consumer.poll(0.1)
            if consumer.assignment():
                break
        assert consumer.assignment(), "it has not joined"
        yield
    finally:
        consumer.close()


def test_the_start_is_kept_until_a_batch_is_committed(cluster: Cluster, topic: str) -> None:
    group = group_of(cluster, f"{topic}-kept")
    assert group.initial() is None
    start = {(topic, 0): 10, (topic, 1): 7}
    assert group.keep_initial(start)
    assert group_of(cluster, f"{topic}-kept").initial() == start, "another process asks again"
    assert offsets_in(cluster, f"{topic}-kept") == start, "lag tools see the query from its first moment"

    assert group.commit({(topic, 0): 10, (topic, 1): 9})
    assert group.initial() is None
    assert offsets_in(cluster, f"{topic}-kept") == {(topic, 0): 10, (topic, 1): 9}


def test_other_starting_options_are_another_start(cluster: Cluster, topic: str) -> None:
    group_of(cluster, f"{topic}-other").keep_initial({(topic, 0): 10, (topic, 1): 10})
    earliest = group_of(cluster, f"{topic}-other", start_digest({"subscribe": topic, "startingOffsets": "earliest"}))
    assert earliest.initial() is None
    assert earliest.keep_initial({(topic, 0): 0, (topic, 1): 0})
    assert earliest.initial() == {(topic, 0): 0, (topic, 1): 0}
    assert group_of(cluster, f"{topic}-other").initial() is None


def test_a_query_that_starts_anew_in_an_old_group_keeps_its_own_start(cluster: Cluster, topic: str) -> None:
    group = group_of(cluster, f"{topic}-anew")
    group.keep_initial({(topic, 0): 5, (topic, 1): 5})
    group.commit({(topic, 0): 10, (topic, 1): 10})
    assert group.initial() is None
    assert group.keep_initial({(topic, 0): 3, (topic, 1): 3}), "to go back is right here"
    assert group.initial() == {(topic, 0): 3, (topic, 1): 3}
    assert group.advance({(topic, 0): 4, (topic, 1): 3})
    assert offsets_in(cluster, f"{topic}-anew") == {(topic, 0): 4, (topic, 1): 3}


def test_an_operator_may_move_a_start_that_has_read_nothing(cluster: Cluster, topic: str) -> None:
    group = group_of(cluster, f"{topic}-moved")
    group.keep_initial({(topic, 0): 10, (topic, 1): 10})
    commit_offsets(cluster, f"{topic}-moved", {(topic, 1): (2, "")})
    assert group.initial() == {(topic, 0): 10, (topic, 1): 2}


def test_offsets_of_other_topics_in_the_group_are_left_alone(
    cluster: Cluster, topic: str, barnabas_broker: Broker
) -> None:
    barnabas_broker.create_topic(f"{topic}-else")
    commit_offsets(cluster, f"{topic}-shared", {(f"{topic}-else", 0): (0, "")})
    group = group_of(cluster, f"{topic}-shared")
    assert group.initial() is None
    group.keep_initial({(topic, 0): 1, (topic, 1): 1})
    assert group.initial() == {(topic, 0): 1, (topic, 1): 1}
    assert offsets_in(cluster, f"{topic}-shared")[f"{topic}-else", 0] == 0


def test_late_news_do_not_take_the_group_back(cluster: Cluster, topic: str) -> None:
    group = group_of(cluster, f"{topic}-late")
    group.commit({(topic, 0): 8, (topic, 1): 4})
    assert group.advance({(topic, 0): 6, (topic, 1): 5}), "the listener gets an earlier batch"
    assert offsets_in(cluster, f"{topic}-late") == {(topic, 0): 8, (topic, 1): 5}


def test_the_truth_overwrites_what_is_not_the_querys_own(cluster: Cluster, topic: str) -> None:
    commit_offsets(cluster, f"{topic}-reset", {(topic, 0): (10, "")})
    assert group_of(cluster, f"{topic}-reset").advance({(topic, 0): 6, (topic, 1): 5})
    assert offsets_in(cluster, f"{topic}-reset") == {(topic, 0): 6, (topic, 1): 5}


def test_an_offset_beyond_the_log_does_not_hold_the_group(cluster: Cluster, topic: str) -> None:
    group = group_of(cluster, f"{topic}-remade")
    group.commit({(topic, 0): 5000, (topic, 1): 10})
    assert group.advance({(topic, 0): 6, (topic, 1): 9})
    assert offsets_in(cluster, f"{topic}-remade") == {(topic, 0): 6, (topic, 1): 10}


def test_the_warning_is_that_of_the_page(
    cluster: Cluster, topic: str, barnabas_broker: Broker, caplog: pytest.LogCaptureFixture, followed: Followed
) -> None:
    (block,) = followed("docs/spark-operations.md")
    group = group_of(cluster, topic)
    with live_member(barnabas_broker, topic, topic, "classic"), caplog.at_level(logging.WARNING):
        assert not group.advance({(topic, 0): 2, (topic, 1): 2})
    (warning,) = (record.getMessage() for record in caplog.records if record.name == "barnabas.spark")
    assert warning == " ".join(block.text.split()).replace("group billing", f"group {topic}")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_live_members_are_told_and_do_not_stop_the_query(
    cluster: Cluster, topic: str, barnabas_broker: Broker, caplog: pytest.LogCaptureFixture, protocol: str
) -> None:
    group = group_of(cluster, f"{topic}-{protocol}")
    with live_member(barnabas_broker, f"{topic}-{protocol}", topic, protocol), caplog.at_level(logging.WARNING):
        assert not group.keep_initial({(topic, 0): 1, (topic, 1): 1})
        assert not group.commit({(topic, 0): 2, (topic, 1): 2})
        assert not group.advance({(topic, 0): 2, (topic, 1): 2})
    warnings = [record.getMessage() for record in caplog.records if record.name == "barnabas.spark"]
    assert len(warnings) == 1, "the same problem is logged once"
    assert f"The group {topic}-{protocol} has live members of another consumer" in warnings[0]
    assert "its own kafka.group.id" in warnings[0]

    assert group.commit({(topic, 0): 3, (topic, 1): 3}), "they have left"
    assert offsets_in(cluster, f"{topic}-{protocol}") == {(topic, 0): 3, (topic, 1): 3}


def test_a_partition_that_is_gone_does_not_keep_the_others_back(cluster: Cluster, topic: str) -> None:
    group = group_of(cluster, f"{topic}-gone")
    assert group.commit({(topic, 0): 3, (f"{topic}-was-deleted", 0): 3})
    assert offsets_in(cluster, f"{topic}-gone")[topic, 0] == 3


def test_a_broker_that_is_away_fails_a_start_but_no_progress(caplog: pytest.LogCaptureFixture) -> None:
    with Broker() as broker:
        broker.create_topic("orders")
        address = broker.bootstrap_servers
    with Cluster(client_settings({"bootstrap.servers": address}), retry_for_s=0) as cluster:
        group = group_of(cluster, "away")
        with pytest.raises(ClientError):
            group.initial()
        with pytest.raises(ClientError):
            group.keep_initial({("orders", 0): 1})
        assert not group.commit({("orders", 0): 1})
        assert not group.advance({("orders", 0): 1})
    assert "the progress of the query is not shown in its group" in caplog.text


def test_a_kafka_client_sees_the_progress(cluster: Cluster, topic: str, barnabas_broker: Broker) -> None:
    group_of(cluster, f"{topic}-seen").commit({(topic, 0): 3, (topic, 1): 4})
    reader = Consumer({"bootstrap.servers": barnabas_broker.bootstrap_servers, "group.id": f"{topic}-seen"})
    try:
        found = reader.committed([Place(topic, 0), Place(topic, 1)], timeout=10)
    finally:
        reader.close()
    assert [(one.partition, one.offset) for one in found] == [(0, 3), (1, 4)]
    notes = {one.metadata for one in fetch_offsets(cluster, f"{topic}-seen", None).values()}
    assert notes == {f"spark:progress:{LATEST}"}


def test_the_digest_knows_what_decides_a_start() -> None:
    options = {"subscribe": "orders", "startingOffsets": json.dumps({"orders": {"0": 3}})}
    assert start_digest(options) == start_digest(
        {"SUBSCRIBE": " orders", "startingoffsets": options["startingOffsets"]}
    )
    assert start_digest(options) == start_digest({**options, "failOnDataLoss": "false", "kafka.group.id": "g"})
    assert start_digest(options) != start_digest({**options, "startingOffsets": "latest"})
    assert start_digest(options) != start_digest({**options, "startingTimestamp": "5"})
