"""Long polls, and topics that are created by being asked for."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from client_aiokafka import AioKafka
from client_confluent import ConfluentKafka, consumer, deliver
from client_kafka_python import KafkaPython
from client_kcat import run as run_kcat
from client_records import DEADLINE_S, Client, Sent
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka.errors import KafkaTimeoutError, UnknownTopicOrPartitionError

from barnabas.testing import Broker

pytestmark = pytest.mark.clients

LONG_WAIT_MS = 20_000


def test_a_waiting_consumer_is_woken_by_the_record(broker: Broker, topic: str) -> None:
    """Without being woken, it would wait much longer than this test may take."""
    servers = broker.bootstrap_servers
    broker.create_topic(topic)
    patient = {"fetch.wait.max.ms": LONG_WAIT_MS, "fetch.min.bytes": 1, "socket.timeout.ms": 3 * LONG_WAIT_MS}
    with consumer(servers, "unused", **patient) as reader, ThreadPoolExecutor(1) as pool:
        reader.assign([TopicPartition(topic, 0, 0)])
        assert reader.poll(0.3) is None
        started = time.monotonic()
        waiting = pool.submit(reader.poll, DEADLINE_S)
        deliver(servers, topic, [Sent(0, None, b"wake up")])
        message = waiting.result()
        assert message is not None
        assert message.value() == b"wake up"
        assert time.monotonic() - started < LONG_WAIT_MS / 1000 / 2


def test_a_consumer_that_wants_more_waits_for_more(broker: Broker, topic: str) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic)
    greedy = {"fetch.wait.max.ms": LONG_WAIT_MS, "fetch.min.bytes": 10_000, "socket.timeout.ms": 3 * LONG_WAIT_MS}
    with consumer(servers, "unused", **greedy) as reader:
        reader.assign([TopicPartition(topic, 0, 0)])
        assert reader.poll(0.2) is None
        deliver(servers, topic, [Sent(0, None, b"too little")])
        assert reader.poll(0.3) is None, "it was answered before there was enough"
        deliver(servers, topic, [Sent(0, None, b"x" * 10_000)])
        assert [message.value()[:3] for message in reader.consume(2, DEADLINE_S)] == [b"too", b"xxx"]


def test_what_is_too_little_comes_when_the_time_is_up(broker: Broker, topic: str) -> None:
    broker.create_topic(topic)
    deliver(broker.bootstrap_servers, topic, [Sent(0, None, b"little")])
    with consumer(broker.bootstrap_servers, "u", **{"fetch.wait.max.ms": 300, "fetch.min.bytes": 10_000}) as reader:
        reader.assign([TopicPartition(topic, 0, 0)])
        message = reader.poll(DEADLINE_S)
        assert message is not None
        assert message.value() == b"little"


@pytest.mark.parametrize("client", [ConfluentKafka(), KafkaPython(), AioKafka()], ids=lambda client: client.name)
def test_a_topic_is_created_by_writing_to_it(servers: str, topic: str, client: Client) -> None:
    assert client.write(servers, topic, [Sent(0, None, b"first")]) == [0]
    assert [seen.value for seen in client.read(servers, topic, {0: 1})] == [b"first"]


def test_kcat_creates_a_topic_by_writing_to_it(servers: str, topic: str) -> None:
    run_kcat("-b", servers, "-P", "-t", topic, stdin=b"first")
    assert [seen.value for seen in ConfluentKafka().read(servers, topic, {0: 1})] == [b"first"]


@pytest.fixture(scope="module")
def strict_servers() -> Iterator[str]:
    """A broker without auto-creation of topics, with num.partitions=3."""
    with Broker(process=True, properties={"auto.create.topics.enable": "false", "num.partitions": "3"}) as broker:
        yield broker.bootstrap_servers


def test_no_topic_is_created_where_that_is_off(strict_servers: str, topic: str) -> None:
    impatient = {"topic.metadata.propagation.max.ms": 50}
    with pytest.raises(KafkaException) as refused:
        deliver(strict_servers, topic, [Sent(0, None, b"v")], **impatient)
    assert refused.value.args[0].code() in (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART)
    with pytest.raises((KafkaTimeoutError, UnknownTopicOrPartitionError)):
        KafkaPython().write(strict_servers, topic, [Sent(0, None, b"v")], max_block_ms=300)
    complaint = run_kcat("-b", strict_servers, "-L", "-t", topic, check=False)
    assert b"Unknown topic or partition" in complaint
    assert topic not in AdminClient({"bootstrap.servers": strict_servers}).list_topics().topics


def test_created_topics_get_the_brokers_partition_count(topic: str) -> None:
    with Broker(process=True, properties={"num.partitions": "3"}) as broker:
        deliver(broker.bootstrap_servers, topic, [Sent(2, None, b"v")])
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        assert len(admin.list_topics(topic).topics[topic].partitions) == 3
