"""Share groups tested with Apache Kafka: its consumer, its tools, and its server on the same directory."""

import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, Producer, ShareConsumer
from kafka_server import NODE_ID, KafkaServer
from kafka_tools import KafkaTools
from peers import Peers
from test_java_client import run

from barnabas.testing import Broker


@pytest.fixture
def at(broker: Broker) -> tuple[str, str]:
    return "--bootstrap-server", broker.bootstrap_servers


@pytest.fixture
def group(tools: KafkaTools, at: tuple[str, str]) -> str:
    """One that starts at the first record."""
    name = f"group-{uuid.uuid4().hex[:12]}"
    begin_with_the_first(tools, at[1], name)
    return name


def begin_with_the_first(tools: KafkaTools, servers: str, group: str) -> None:
    tools.run(
        "ConfigCommand",
        *("--bootstrap-server", servers, "--alter", "--entity-type", "groups", "--entity-name", group),
        *("--add-config", "share.auto.offset.reset=earliest"),
    )


def fill(servers: str, topic: str, count: int, *, first: int = 0) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for number in range(first, first + count):
        producer.produce(topic, str(number), partition=0)
    assert producer.flush(30) == 0


def take(servers: str, group: str, topic: str, count: int, *, release: Any = lambda _: False) -> list[str]:
    consumer = ShareConsumer(
        {"bootstrap.servers": servers, "group.id": group, "share.acknowledgement.mode": "explicit", "log_level": 0}
    )
    consumer.subscribe([topic])
    values: list[str] = []
    while len(values) < count:
        for message in consumer.poll(1):
            assert message.error() is None
            value = message.value().decode()
            if release(value):
                consumer.acknowledge(message, AcknowledgeType.RELEASE)
            else:
                values.append(value)
                consumer.acknowledge(message, AcknowledgeType.ACCEPT)
        assert not any(consumer.commit_sync(30).values())
    consumer.close()
    return values


@pytest.mark.parametrize("mode", ["batch_optimized", "record_limit"])
def test_the_java_share_consumer(peers: Peers, broker: Broker, barnabas_topic: str, group: str, mode: str) -> None:
    broker.create_topic(barnabas_topic, partitions=2)
    outcome = run(peers, "ShareQueue", broker.bootstrap_servers, barnabas_topic, group, 500, mode)
    assert outcome == [450, 50, 50, 50, 0]


def test_the_console_share_consumer(
    tools: KafkaTools, broker: Broker, at: tuple[str, str], barnabas_topic: str, group: str
) -> None:
    broker.create_topic(barnabas_topic)
    fill(broker.bootstrap_servers, barnabas_topic, 40)
    arguments = (*at, "--topic", barnabas_topic, "--group", group, "--timeout-ms", 20000)
    read = tools.run("ConsoleShareConsumer", *arguments, "--max-messages", 30)
    assert read.lines[:30] == [str(number) for number in range(30)]
    rejected = tools.run("ConsoleShareConsumer", *arguments, "--reject", "--max-messages", 10)
    assert rejected.lines[:10] == [str(number) for number in range(30, 40)]
    described = tools.run("ShareGroupCommand", *at, "--describe", "--group", group)
    assert [group, barnabas_topic, "0"] == described.words[-1][:3]
    assert described.words[-1][4] == "0"


def test_the_share_group_command(
    tools: KafkaTools, broker: Broker, at: tuple[str, str], barnabas_topic: str, group: str
) -> None:
    broker.create_topic(barnabas_topic)
    fill(broker.bootstrap_servers, barnabas_topic, 10)
    servers = broker.bootstrap_servers
    consumer = ShareConsumer({"bootstrap.servers": servers, "group.id": group, "client.id": "one", "log_level": 0})
    consumer.subscribe([barnabas_topic])
    while not consumer.poll(1):
        pass
    assert group in tools.run("ShareGroupCommand", *at, "--list").lines
    states = tools.run("ShareGroupCommand", *at, "--list", "--state", "stable").words
    assert [group, "Stable"] in states
    members = tools.run("ShareGroupCommand", *at, "--describe", "--group", group, "--members", "--verbose").words
    assert any("one" in words and f"{barnabas_topic}:0" in words for words in members)
    refused = tools.run("ShareGroupCommand", *at, "--delete", "--group", group)
    assert "is not EMPTY" in refused.out + refused.err
    consumer.close()
    reset = tools.run(
        "ShareGroupCommand",
        *(*at, "--reset-offsets", "--group", group, "--topic", barnabas_topic, "--to-latest", "--execute"),
    )
    assert [group, barnabas_topic, "0", "10"] in reset.words
    described = tools.run("ShareGroupCommand", *at, "--describe", "--group", group)
    assert described.words[-1] == [group, barnabas_topic, "0", "10", "0"]
    deleted = tools.run("ShareGroupCommand", *at, "--delete-offsets", "--group", group, "--topic", barnabas_topic)
    assert [barnabas_topic, "Successful"] in deleted.words
    tools.run("ShareGroupCommand", *at, "--delete", "--group", group)
    assert group not in tools.run("ShareGroupCommand", *at, "--list").lines


def test_the_verifiable_share_consumer(
    tools: KafkaTools, broker: Broker, at: tuple[str, str], barnabas_topic: str, group: str
) -> None:
    broker.create_topic(barnabas_topic)
    fill(broker.bootstrap_servers, barnabas_topic, 100)
    output = tools.run(
        "VerifiableShareConsumer", *at, "--topic", barnabas_topic, "--group-id", group, "--max-messages", 100
    )
    acknowledged = [int(found) for found in re.findall(r'"name":"offsets_acknowledged".*?"count":(\d+)', output.out)]
    counted = acknowledged or [int(found) for found in re.findall(r'"count":(\d+)', output.out)]
    assert sum(counted) >= 100


def test_share_consumer_performance(
    tools: KafkaTools, broker: Broker, at: tuple[str, str], barnabas_topic: str, group: str
) -> None:
    broker.create_topic(barnabas_topic)
    fill(broker.bootstrap_servers, barnabas_topic, 5000)
    output = tools.run(
        "ShareConsumerPerformance",
        *(*at, "--topic", barnabas_topic, "--group", group, "--messages", 5000, "--timeout", 30000),
    )
    assert re.search(r"\b5\d\d\d\b", output.out), output.out


def test_the_state_topic_can_be_dumped(tools: KafkaTools, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    properties = {"share.coordinator.snapshot.update.records.per.snapshot": "2"}
    with Broker(process=True, data_dir=data_dir, properties=properties) as broker:
        servers = broker.bootstrap_servers
        broker.create_topic("t")
        begin_with_the_first(tools, servers, "g")
        fill(servers, "t", 50)
        take(servers, "g", "t", 50, release=_once(lambda value: value.endswith("3")))
        broker.stop()
        files = [str(path) for path in data_dir.glob("__share_group_state-*/*.log") if path.stat().st_size]
        dumped = tools.run("DumpLogSegments", "--files", ",".join(files), "--share-group-state-decoder")
        assert '"deliveryState":2' in dumped.out
        assert '"type":"0"' in dumped.out
        assert '"type":"1"' in dumped.out
        assert "unparseable" not in dumped.out.lower()
        offsets = [str(path) for path in data_dir.glob("__consumer_offsets-*/*.log") if path.stat().st_size]
        groups = tools.run("DumpLogSegments", "--files", ",".join(offsets), "--offsets-decoder")
        for kind in range(10, 16):
            assert f'"type":"{kind}"' in groups.out


def _once(matches: Any) -> Any:
    seen: set[str] = set()

    def release(value: str) -> bool:
        first = matches(value) and value not in seen
        seen.add(value)
        return bool(first)

    return release


def test_a_directory_goes_to_kafka_and_back(peers: Peers, tools: KafkaTools, tmp_path: Path) -> None:
    """Each server continues where the other stopped: no record is delivered again, and none is missing."""
    data_dir = tmp_path / "data"

    def barnabas() -> Broker:
        return Broker(process=True, data_dir=data_dir, properties={"node.id": str(NODE_ID)})

    def kafka() -> KafkaServer:
        return KafkaServer(peers, data_dir, tmp_path / "kafka")

    left = {str(number) for number in range(100)}
    with barnabas() as broker:
        servers = broker.bootstrap_servers
        broker.create_topic("t")
        begin_with_the_first(tools, servers, "g")
        fill(servers, "t", 100)
        left -= set(take(servers, "g", "t", 60, release=lambda value: value.endswith("3")))
        broker.stop()
    with kafka() as server:
        servers = server.bootstrap_servers
        described = tools.run("ShareGroupCommand", "--bootstrap-server", servers, "--describe", "--group", "g")
        assert described.words[-1][:3] == ["g", "t", "0"]
        assert int(described.words[-1][4]) == len(left)
        fill(servers, "t", 50, first=100)
        left |= {str(number) for number in range(100, 150)}
        taken = take(servers, "g", "t", 40, release=lambda value: value.endswith("4"))
        assert set(taken) <= left
        left -= set(taken)
        server.stop()
    with barnabas() as broker:
        servers = broker.bootstrap_servers
        described = tools.run("ShareGroupCommand", "--bootstrap-server", servers, "--describe", "--group", "g")
        assert int(described.words[-1][4]) == len(left)
        assert sorted(take(servers, "g", "t", len(left))) == sorted(left)
        broker.stop()
