"""A Spark query's consumer group on Apache Kafka and on Barnabas, checked with Kafka's own tool and a real consumer.

Spark does not run here: the tests call the same code as its source and its listener.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import spark_brokers
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_tools import KafkaTools
from peers import Peers

from barnabas.client.cluster import Cluster
from barnabas.client.group_offsets import fetch_offsets
from barnabas.client.properties import client_settings
from barnabas.spark.query.backlog import oldest_unread_ms
from barnabas.spark.query.group import QueryGroup, start_digest
from barnabas.spark.query.plan import PlannedSource
from barnabas.spark.query.source_watch import SourceWatch

WRITTEN_MS = 1_700_000_000_000
START = start_digest({"subscribe": "orders", "startingOffsets": "latest"})


@pytest.fixture(scope="module", params=spark_brokers.BROKERS)
def servers(
    request: pytest.FixtureRequest, peers: Peers, tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    with spark_brokers.running(request.param, peers, tools, tmp_path_factory.mktemp(request.param)) as address:
        yield address


@pytest.fixture
def topic(servers: str, barnabas_topic: str) -> str:
    """Two partitions with ten records each, one second between them."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(barnabas_topic, 2, 1)])[barnabas_topic].result(30)
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "compression.type": "zstd"})
    for number in range(20):
        producer.produce(barnabas_topic, b"an order", partition=number % 2, timestamp=WRITTEN_MS + number // 2 * 1000)
    assert producer.flush(30) == 0
    return barnabas_topic


@pytest.fixture
def cluster(servers: str) -> Iterator[Cluster]:
    with Cluster(client_settings({"bootstrap.servers": servers})) as found:
        yield found


def offsets_in(cluster: Cluster, group: str) -> dict[int, int]:
    return {partition: one.offset for (_, partition), one in fetch_offsets(cluster, group, None).items()}


@contextmanager
def live_member(servers: str, group: str, topic: str, protocol: str) -> Iterator[None]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "group.protocol": protocol})
    try:
        consumer.subscribe([topic])
        for _ in range(300):
            consumer.poll(0.1)
            if consumer.assignment():
                break
        assert consumer.assignment(), "it has not joined"
        yield
    finally:
        consumer.close()


def test_kafkas_tool_shows_the_start_and_the_progress_of_a_query(
    servers: str, cluster: Cluster, topic: str, tools: KafkaTools
) -> None:
    name = f"{topic}-query"
    group = QueryGroup(lambda: cluster, name, start=START)
    assert group.initial() is None
    assert group.keep_initial({(topic, 0): 10, (topic, 1): 8})
    assert group.initial() == {(topic, 0): 10, (topic, 1): 8}

    def described() -> dict[str, list[str]]:
        shown = tools.run("ConsumerGroupCommand", "--bootstrap-server", servers, "--describe", "--group", name).out
        rows = [line.split() for line in shown.splitlines() if line.startswith(name)]
        return {row[2]: row[3:6] for row in rows}

    assert described() == {"0": ["10", "10", "0"], "1": ["8", "10", "2"]}
    assert group.commit({(topic, 0): 10, (topic, 1): 9})
    assert group.initial() is None
    assert group.advance({(topic, 0): 10, (topic, 1): 8}), "an older commit changes nothing"
    assert group.advance({(topic, 0): 10, (topic, 1): 10})
    assert described() == {"0": ["10", "10", "0"], "1": ["10", "10", "0"]}


def test_kafkas_tool_may_move_a_start_that_has_read_nothing(
    servers: str, cluster: Cluster, topic: str, tools: KafkaTools
) -> None:
    name = f"{topic}-moved"
    group = QueryGroup(lambda: cluster, name, start=START)
    group.keep_initial({(topic, 0): 10, (topic, 1): 10})
    reset = ("--reset-offsets", "--to-offset", "4", "--topic", f"{topic}:1", "--execute")
    tools.run("ConsumerGroupCommand", "--bootstrap-server", servers, "--group", name, *reset)
    assert group.initial() == {(topic, 0): 10, (topic, 1): 4}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_of_another_consumer_are_reported_and_stop_nothing(
    servers: str, cluster: Cluster, topic: str, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"{topic}-{protocol}"
    group = QueryGroup(lambda: cluster, name, start=START)
    with live_member(servers, name, topic, protocol), caplog.at_level(logging.WARNING):
        assert not group.keep_initial({(topic, 0): 1, (topic, 1): 1})
        assert not group.commit({(topic, 0): 2, (topic, 1): 2})
    assert f"The group {name} has live members of another consumer" in caplog.text
    assert group.commit({(topic, 0): 3, (topic, 1): 3})
    assert offsets_in(cluster, name) == {0: 3, 1: 3}


def test_a_deleted_topic_takes_its_offsets_along(servers: str, cluster: Cluster, topic: str) -> None:
    """So that a query on a recreated topic finds no old offsets."""
    name = f"{topic}-deleted"
    group = QueryGroup(lambda: cluster, name, start=START)
    group.commit({(topic, 0): 9, (topic, 1): 9})
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics([topic])[topic].result(30)
    retry = cluster.retry_policy()
    while offsets_in(cluster, name):
        assert retry.wait(), "they are still there"


def test_lag_and_age_are_measured(servers: str, cluster: Cluster, topic: str) -> None:
    assert oldest_unread_ms(cluster, {(topic, 0): 3, (topic, 1): 0, (f"{topic}-nowhere", 0): 0}) == {
        (topic, 0): WRITTEN_MS + 3000,
        (topic, 1): WRITTEN_MS,
    }
    options = {"kafka.bootstrap.servers": servers, "kafka.group.id": f"{topic}-lag", "subscribe": topic}
    watch = SourceWatch(0, PlannedSource("barnabas", options))
    try:
        watch.finished({(topic, 0): 3, (topic, 1): 10}, now_s=0)
        watch.measure(now_s=0, now_ms=WRITTEN_MS + 60_000)
        view = watch.view()
    finally:
        watch.close()
    assert (view.lag, view.trouble, view.age_s(WRITTEN_MS + 60_000)) == (7, None, 57)
    assert offsets_in(cluster, f"{topic}-lag") == {0: 3, 1: 10}
