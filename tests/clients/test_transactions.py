"""Transactions with real clients: committed records are read, aborted ones are not, and zombies are fenced."""

import asyncio
from collections.abc import Iterator
from contextlib import closing, suppress

import client_aiokafka
import client_kafka_python
import pytest
from aiokafka.errors import ProducerFenced
from client_confluent import RECONNECT, consumer, producer, take
from client_records import DEADLINE_S
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from kafka.errors import KafkaError as KafkaPythonError
from transactional_clients import (
    CLIENTS,
    COMMITTED,
    UNCOMMITTED,
    ConfluentTransactions,
    Transaction,
    TransactionalClient,
)

from barnabas.testing import Broker

pytestmark = pytest.mark.clients

by_name = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
READER = ConfluentTransactions()


@pytest.fixture
def transactional_id(topic: str) -> str:
    return f"id-of-{topic}"


@pytest.fixture(scope="module")
def fast_timeouts_broker() -> Iterator[Broker]:
    """A broker that aborts timed-out transactions quickly."""
    properties = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
    with Broker(process=True, properties=properties) as broker:
        yield broker


def transactional(servers: str, transactional_id: str, **config: object) -> Producer:
    writer = producer(servers, **{"transactional.id": transactional_id, **config})
    writer.init_transactions(DEADLINE_S)
    return writer


# Commit and abort


@by_name
def test_committed_records_are_read_by_all_aborted_ones_by_some(
    client: TransactionalClient, broker: Broker, topic: str, transactional_id: str
) -> None:
    broker.create_topic(topic)
    transactions = [
        Transaction([b"a1", b"a2", b"a3"], commit=True),
        Transaction([b"b1", b"b2"], commit=False),
        Transaction([b"c1"], commit=True),
        Transaction([b"d1", b"d2"], commit=False),
    ]
    client.write(broker.bootstrap_servers, transactional_id, topic, transactions)
    for reader in CLIENTS:
        assert reader.read(broker.bootstrap_servers, topic, COMMITTED) == [b"a1", b"a2", b"a3", b"c1"], reader.name
        everything = [value for transaction in transactions for value in transaction.values]
        assert reader.read(broker.bootstrap_servers, topic, UNCOMMITTED) == everything, reader.name


def test_readers_of_committed_records_wait_for_an_open_transaction(
    broker: Broker, topic: str, transactional_id: str
) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic)
    writer = transactional(servers, transactional_id)
    writer.begin_transaction()
    writer.produce(topic, b"in the transaction", partition=0)
    writer.flush(DEADLINE_S)
    plain = producer(servers)
    plain.produce(topic, b"after it began", partition=0)
    plain.flush(DEADLINE_S)
    assert READER.read(servers, topic, COMMITTED) == []
    assert READER.read(servers, topic, UNCOMMITTED) == [b"in the transaction", b"after it began"]
    # This one waits at the broker for far longer than the test may take, unless the commit wakes it.
    patient = {"fetch.wait.max.ms": 60_000, "fetch.min.bytes": 1, "session.timeout.ms": 120_000}
    with consumer(servers, "patient", **{**patient, "socket.timeout.ms": 120_000}) as reader:
        reader.assign([TopicPartition(topic, 0, 0)])
        assert reader.poll(0.5) is None
        writer.commit_transaction(DEADLINE_S)
        assert [message.value() for message in take(reader, 2)] == [b"in the transaction", b"after it began"]


def test_one_transaction_over_many_partitions_is_one(broker: Broker, topic: str, transactional_id: str) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic, partitions=6)
    writer = transactional(servers, transactional_id)
    for turn, commit in enumerate((True, False, True)):
        writer.begin_transaction()
        for partition in range(6):
            writer.produce(topic, b"%d/%d" % (turn, partition), partition=partition)
        if commit:
            writer.commit_transaction(DEADLINE_S)
        else:
            writer.flush(DEADLINE_S)
            writer.abort_transaction(DEADLINE_S)
    with consumer(servers, "reader", **{"isolation.level": COMMITTED}) as reader:
        reader.assign([TopicPartition(topic, partition, 0) for partition in range(6)])
        values = sorted(message.value() for message in take(reader, 12))
    assert values == sorted(b"%d/%d" % (turn, partition) for turn in (0, 2) for partition in range(6))


def test_offsets_are_part_of_the_transaction(broker: Broker, topic: str, group: str, transactional_id: str) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic)
    output = f"{topic}-out"
    broker.create_topic(output)
    source = producer(servers)
    for number in range(10):
        source.produce(topic, b"%d" % number, partition=0)
    source.flush(DEADLINE_S)
    writer = transactional(servers, transactional_id)
    for commit in (False, True):
        with consumer(servers, group, **{"isolation.level": COMMITTED}) as reader:
            reader.subscribe([topic])
            messages = take(reader, 10)
            assert [message.value() for message in messages] == [b"%d" % number for number in range(10)]
            writer.begin_transaction()
            for message in messages:
                writer.produce(output, message.value() * 2, partition=0)
            writer.send_offsets_to_transaction(
                [TopicPartition(topic, 0, messages[-1].offset() + 1)], reader.consumer_group_metadata(), DEADLINE_S
            )
            if commit:
                writer.commit_transaction(DEADLINE_S)
            else:
                writer.flush(DEADLINE_S)
                writer.abort_transaction(DEADLINE_S)
            (committed,) = reader.committed([TopicPartition(topic, 0)], DEADLINE_S)
            assert committed.offset == (10 if commit else -1001)
    assert READER.read(servers, output, COMMITTED) == [b"%d" % number * 2 for number in range(10)]


# Over kills


@pytest.mark.crash
@pytest.mark.parametrize("commit", [True, False])
def test_an_open_transaction_outlives_the_broker(topic: str, transactional_id: str, commit: bool) -> None:
    with Broker(process=True) as broker:
        servers = broker.bootstrap_servers
        broker.create_topic(topic)
        READER.write(
            servers, transactional_id, topic, [Transaction([b"before"], commit=True), Transaction([b"x"], commit=False)]
        )
        writer = transactional(servers, transactional_id)
        writer.begin_transaction()
        writer.produce(topic, b"during", partition=0)
        assert writer.flush(DEADLINE_S) == 0
        broker.kill()
        broker.restart()
        assert READER.read(servers, topic, COMMITTED) == [b"before"]
        writer.produce(topic, b"after", partition=0)
        assert writer.flush(DEADLINE_S) == 0
        (writer.commit_transaction if commit else writer.abort_transaction)(DEADLINE_S)
        expected = [b"before", b"during", b"after"] if commit else [b"before"]
        assert READER.read(servers, topic, COMMITTED) == expected
        broker.kill()
        broker.restart()
        assert READER.read(servers, topic, COMMITTED) == expected
        broker.restart()
        assert READER.read(servers, topic, COMMITTED) == expected
        assert READER.read(servers, topic, UNCOMMITTED) == [b"before", b"x", b"during", b"after"]


@pytest.mark.crash
def test_a_producer_that_dies_leaves_nothing_behind(topic: str, transactional_id: str) -> None:
    """Its successor, on another broker process, aborts its open transaction."""
    with Broker(process=True) as broker:
        servers = broker.bootstrap_servers
        broker.create_topic(topic)
        dead = transactional(servers, transactional_id)
        dead.begin_transaction()
        dead.produce(topic, b"left open", partition=0)
        assert dead.flush(DEADLINE_S) == 0
        broker.kill()
        broker.restart()
        READER.write(servers, transactional_id, topic, [Transaction([b"successor"], commit=True)])
        assert READER.read(servers, topic, COMMITTED) == [b"successor"]
        assert READER.read(servers, topic, UNCOMMITTED) == [b"left open", b"successor"]


# Zombies


def is_fenced(error: KafkaException) -> bool:
    return error.args[0].code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


def write_and_be_refused(zombie: Producer, topic: str, value: bytes) -> KafkaException:
    """librdkafka treats the error as fatal, and its binding raises it from the next call, whatever that is."""
    try:
        zombie.produce(topic, value, partition=0)
        zombie.flush(DEADLINE_S)
    except KafkaException as refused:
        return refused
    raise AssertionError("a zombie was not refused")


def test_a_reused_transactional_id_fences_its_old_producer(broker: Broker, topic: str, transactional_id: str) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic)
    old = transactional(servers, transactional_id)
    old.begin_transaction()
    old.produce(topic, b"open when the new one came", partition=0)
    assert old.flush(DEADLINE_S) == 0
    new = transactional(servers, transactional_id)
    assert is_fenced(write_and_be_refused(old, topic, b"late"))
    with pytest.raises(KafkaException) as refused:
        old.commit_transaction(DEADLINE_S)
    assert is_fenced(refused.value)
    new.begin_transaction()
    new.produce(topic, b"new", partition=0)
    new.commit_transaction(DEADLINE_S)
    assert READER.read(servers, topic, COMMITTED) == [b"new"]
    assert b"late" not in READER.read(servers, topic, UNCOMMITTED)


def test_other_clients_see_that_they_are_fenced(broker: Broker, topic: str, transactional_id: str) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic)
    with closing(client_kafka_python.producer(servers, transactional_id=transactional_id)) as first:
        first.init_transactions()
        first.begin_transaction()
        first.send(topic, b"first", partition=0).get(DEADLINE_S)

        async def second_is_fenced() -> None:
            async with client_aiokafka.producer(servers, transactional_id=transactional_id) as second:
                await second.begin_transaction()
                await second.send_and_wait(topic, b"second", partition=0)
                READER.write(servers, transactional_id, topic, [Transaction([b"third"], commit=True)])
                with pytest.raises(ProducerFenced):
                    await second.commit_transaction()

        with suppress(ProducerFenced):
            asyncio.run(second_is_fenced())
        with pytest.raises(KafkaPythonError):
            first.commit_transaction()
    assert READER.read(servers, topic, COMMITTED) == [b"third"]


def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(
    fast_timeouts_broker: Broker, topic: str, transactional_id: str
) -> None:
    servers = fast_timeouts_broker.bootstrap_servers
    fast_timeouts_broker.create_topic(topic)
    slow = transactional(servers, transactional_id, **{"transaction.timeout.ms": 1000})
    slow.begin_transaction()
    slow.produce(topic, b"too slow", partition=0)
    assert slow.flush(DEADLINE_S) == 0
    other = producer(servers)
    other.produce(topic, b"plain", partition=0)
    assert other.flush(DEADLINE_S) == 0
    # A consumer continues once the broker has aborted the transaction.
    with consumer(servers, "reader", **{"isolation.level": COMMITTED, **RECONNECT}) as reader:
        reader.assign([TopicPartition(topic, 0, 0)])
        assert [message.value() for message in take(reader, 1)] == [b"plain"]
    assert is_fenced(write_and_be_refused(slow, topic, b"even later"))
    with pytest.raises(KafkaException):
        slow.commit_transaction(DEADLINE_S)
    assert READER.read(servers, topic, UNCOMMITTED) == [b"too slow", b"plain"]
