"""Consumer groups of KIP-848, judged by the Java client, Kafka's tools and Apache Kafka itself."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from confluent_kafka import Consumer, ConsumerGroupType, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription, NewTopic
from kafka_server import NODE_ID, KafkaServer
from kafka_tools import KafkaTools
from peers import Peers
from test_java_client import run

from barnabas.testing import Broker

T = TypeVar("T")

_LOADING = (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS)

QUICK = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
}


@pytest.fixture(scope="module")
def quick() -> Iterator[Broker]:
    with Broker(process=True, properties=QUICK) as running:
        yield running


@contextmanager
def member(servers: str, group: str, *topics: str, **config: object) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "group.protocol": "consumer",
            "client.id": "a-member",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **config,
        }
    )
    consumer.subscribe(list(topics))
    try:
        yield consumer
    finally:
        consumer.close()


def fill(servers: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for number in range(count):
        producer.produce(topic, str(number), partition=0)
    assert producer.flush(10) == 0


def read_and_commit(consumer: Consumer, count: int) -> None:
    for _ in range(count):
        message = consumer.poll(10)
        assert message is not None
        assert message.error() is None, message.error()
    consumer.commit(asynchronous=False)


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_java_members_join_and_leave(peers: Peers, quick: Broker, barnabas_topic: str, assignor: str) -> None:
    quick.create_topic(barnabas_topic, partitions=6)
    written, read, read_twice, kept = run(peers, "Groups", quick.bootstrap_servers, barnabas_topic, 6, assignor)
    assert (written, read, read_twice) == (4200, 4200, 0)
    assert kept > 0, "no member revokes a partition that it keeps"


def test_consumer_group_command(tools: KafkaTools, quick: Broker, barnabas_topic: str) -> None:
    at = ("--bootstrap-server", quick.bootstrap_servers)
    group = ("--group", barnabas_topic)
    quick.create_topic(barnabas_topic, partitions=2)
    fill(quick.bootstrap_servers, barnabas_topic, 5)
    with member(quick.bootstrap_servers, barnabas_topic, barnabas_topic) as consumer:
        read_and_commit(consumer, 5)
        described = tools.run("ConsumerGroupCommand", *at, "--describe", *group).words
        assert any(
            words[:6] == [barnabas_topic, barnabas_topic, "0", "5", "5", "0"] and words[-1] == "a-member"
            for words in described
        ), described
        members = tools.run("ConsumerGroupCommand", *at, "--describe", *group, "--members", "--verbose").out
        assert re.search(rf"{barnabas_topic}:0,1", members), members
        assert re.search(r"CURRENT-EPOCH|UPGRADED", members), members
        state = tools.run("ConsumerGroupCommand", *at, "--describe", *group, "--state", "--verbose").out
        assert "Stable" in state
        assert "uniform" in state
        listed = tools.run("ConsumerGroupCommand", *at, "--list", "--type", "consumer", "--state", "stable").words
        assert [barnabas_topic, "Consumer", "Stable"] in listed
        everything = tools.run("GroupsCommand", *at, "--list").words
        assert [barnabas_topic, "Consumer", "consumer"] in everything
        assert "GroupNotEmptyException" in tools.run("ConsumerGroupCommand", *at, "--delete", *group).out
    tools.run(
        "ConsumerGroupCommand", *at, *group, "--reset-offsets", "--to-offset", 2, "--topic", barnabas_topic, "--execute"
    )
    with member(quick.bootstrap_servers, barnabas_topic, barnabas_topic) as consumer:
        read_and_commit(consumer, 3)
    deleted = tools.run("ConsumerGroupCommand", *at, "--delete", *group)
    assert "was successful" in deleted.out


def test_group_configs(tools: KafkaTools, quick: Broker, barnabas_topic: str) -> None:
    at = ("--bootstrap-server", quick.bootstrap_servers)
    entity = ("--entity-type", "groups", "--entity-name", barnabas_topic)
    tools.run("ConfigCommand", *at, "--alter", *entity, "--add-config", "consumer.session.timeout.ms=50000")
    output = tools.run("ConfigCommand", *at, "--describe", *entity).out
    assert "consumer.session.timeout.ms=50000" in output
    refused = tools.run(
        "ConfigCommand", *at, "--alter", *entity, "--add-config", "consumer.session.timeout.ms=1", status=1
    )
    assert "group.consumer.min.session.timeout.ms" in refused.err


def test_dump_log_decodes_the_records(tools: KafkaTools, tmp_path: Path) -> None:
    with Broker(process=True, data_dir=tmp_path / "data", properties=QUICK) as broker:
        broker.create_topic("orders", partitions=2)
        fill(broker.bootstrap_servers, "orders", 2)
        with member(broker.bootstrap_servers, "g", "^ord.*", **{"group.instance.id": "i"}) as consumer:
            read_and_commit(consumer, 2)
        broker.stop()
    files = [path for path in (tmp_path / "data").glob("__consumer_offsets-*/*.log") if path.stat().st_size]
    output = tools.run("DumpLogSegments", "--files", ",".join(map(str, files)), "--offsets-decoder", "--deep-iteration")
    assert not re.search(r"corrupt|mismatch|fail|exception|could not", output.out + output.err, re.IGNORECASE), (
        output.out
    )
    for kind in (3, 5, 6, 7, 8, 16):
        assert f'"type":"{kind}"' in output.out, (kind, output.out)
    assert '"subscribedTopicRegex":"^(ord.*)$"' in output.out or '"subscribedTopicRegex"' in output.out
    assert '"assignmentEpochs"' in output.out


def with_retries(ask: Callable[[], T]) -> T:
    """Retry while the coordinator is loading."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in _LOADING or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _describe(admin: AdminClient, group: str) -> ConsumerGroupDescription:
    return admin.describe_consumer_groups([group])[group].result()


class Seen(dict[str, object]):
    """A group as the admin client describes it."""

    def __init__(self, servers: str, group: str) -> None:
        admin = AdminClient({"bootstrap.servers": servers})
        found = with_retries(partial(_describe, admin, group))
        super().__init__(type=found.type, state=found.state, assignor=found.partition_assignor)
        self["members"] = {
            (each.group_instance_id, each.client_id): sorted(
                (place.topic, place.partition) for place in each.assignment.topic_partitions
            )
            for each in found.members
        }


def play(servers: str, first: bool) -> Seen:
    """A static member reads, commits, and leaves temporarily: it stays in the group while the servers change."""
    if first:
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([NewTopic("orders", 3, 1)])["orders"].result()
    fill(servers, "orders", 4)
    with member(servers, "g", "orders", **{"group.instance.id": "i"}) as consumer:
        read_and_commit(consumer, 4)
    return Seen(servers, "g")


def test_apache_kafka_takes_the_group_over_and_gives_it_back(tools: KafkaTools, peers: Peers, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    long_sessions = {"group.consumer.session.timeout.ms": "60000"}

    def barnabas() -> Broker:
        return Broker(process=True, data_dir=data_dir, properties={"node.id": str(NODE_ID), **long_sessions})

    with barnabas() as broker:
        seen = play(broker.bootstrap_servers, first=True)
        assert seen["type"] is ConsumerGroupType.CONSUMER
        assert seen["members"] == {("i", "a-member"): [("orders", 0), ("orders", 1), ("orders", 2)]}
        broker.stop()
    kafka = KafkaServer(peers, data_dir, tmp_path / "kafka", properties=long_sessions)
    kafka.start()
    try:
        assert Seen(kafka.bootstrap_servers, "g") == seen
        assert play(kafka.bootstrap_servers, first=False) == seen
    finally:
        kafka.stop()
    with barnabas() as broker:
        assert Seen(broker.bootstrap_servers, "g") == seen
        assert play(broker.bootstrap_servers, first=False) == seen
        broker.stop()
