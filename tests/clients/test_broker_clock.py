"""`Broker(clock=VirtualClock())`: what takes seconds, minutes or a week happens when the test says so.

What the clock brings about is there when `advance` returns. What a client does about it is waited for: the clients live
in real time.
"""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import client_aiokafka
import client_confluent
import pytest
from client_aiokafka import AioKafka
from client_confluent import ConfluentKafka, deliver
from client_kafka_python import KafkaPython
from client_records import DEADLINE_S, Client, Sent
from confluent_kafka import Consumer, ConsumerGroupState, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from group_process import group_of
from share_reader import ACCEPT, configure_group, share_consumer
from transactional_clients import CLIENTS as TRANSACTIONAL
from transactional_clients import COMMITTED, TransactionalClient

from barnabas.testing import Broker, VirtualClock

pytestmark = pytest.mark.clients

CLIENTS: list[Client] = [ConfluentKafka(), KafkaPython(), AioKafka()]
DAY = timedelta(days=1)
WEEK_MS = 7 * 24 * 3600 * 1000

# Kafka looks for what is overdue now and then only.
RETENTION_CHECK = timedelta(minutes=5)
OFFSETS_CHECK = timedelta(minutes=10)
TRANSACTIONS_CHECK = timedelta(seconds=10)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def broker(clock: VirtualClock) -> Iterator[Broker]:
    with Broker(clock=clock) as broker:
        yield broker


def first_offset(broker: Broker, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    partition = TopicPartition(topic, 0)
    return int(admin.list_offsets({partition: OffsetSpec.earliest()})[partition].result(DEADLINE_S).offset)


def state_of(broker: Broker, group: str) -> tuple[ConsumerGroupState, int]:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    described = admin.describe_consumer_groups([group])[group].result(DEADLINE_S)
    return described.state, len(described.members)


# --- records


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_records_expire(clock: VirtualClock, broker: Broker, topic: str, client: Client) -> None:
    broker.create_topic(topic, config={"retention.ms": str(WEEK_MS)})
    client.write(broker.bootstrap_servers, topic, [Sent(0, None, b"old")])
    clock.advance(7 * DAY)
    assert first_offset(broker, topic) == 0
    clock.advance(RETENTION_CHECK)
    assert first_offset(broker, topic) == 1
    client.write(broker.bootstrap_servers, topic, [Sent(0, None, b"new")])
    clock.advance(6 * DAY)
    (seen,) = client.read(broker.bootstrap_servers, topic, {0: 1})
    assert (seen.offset, seen.value) == (1, b"new")


def test_records_bear_the_time_of_the_clock_unless_the_topic_wants_the_producers(
    clock: VirtualClock, broker: Broker
) -> None:
    broker.create_topic("brokers-time")
    broker.create_topic("producers-time", config={"message.timestamp.type": "CreateTime"})
    clock.advance(30 * DAY)
    stamped_ms = clock.now_ms() - WEEK_MS
    for topic, expected_ms in (("brokers-time", clock.now_ms()), ("producers-time", stamped_ms)):
        deliver(broker.bootstrap_servers, topic, [Sent(0, None, b"x", timestamp=stamped_ms)])
        (seen,) = ConfluentKafka().read(broker.bootstrap_servers, topic, {0: 1})
        assert seen.timestamp == expected_ms


def test_keys_are_compacted(clock: VirtualClock, broker: Broker, topic: str) -> None:
    config = {"cleanup.policy": "compact", "segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01"}
    broker.create_topic(topic, config=config)
    for price in range(10):
        deliver(broker.bootstrap_servers, topic, [Sent(0, b"apple", str(price).encode())])
        clock.advance(2_000)
    clock.advance(timedelta(minutes=1))
    seen = ConfluentKafka().read(broker.bootstrap_servers, topic, {0: 2})
    # The last record is in the active segment, which is never cleaned.
    assert [record.value for record in seen] == [b"8", b"9"]


def test_what_clients_have_sent_is_there_before_the_clock_moves(
    clock: VirtualClock, broker: Broker, topic: str
) -> None:
    """With acks=0 a producer is done once the bytes have left it."""
    broker.create_topic(topic, config={"message.timestamp.type": "LogAppendTime"})
    producer = client_confluent.producer(broker.bootstrap_servers, acks=0)
    sent_ms = clock.now_ms()
    for number in range(200):
        producer.produce(topic, b"x" * 1_000, partition=0, key=str(number))
    assert producer.flush(DEADLINE_S) == 0
    clock.advance(DAY)
    seen = ConfluentKafka().read(broker.bootstrap_servers, topic, {0: 200})
    assert {record.timestamp for record in seen} == {sent_ms}


# --- groups


@pytest.mark.parametrize(
    ("client", "assignor"), [("confluent-kafka", "range"), ("kafka-python", "range"), ("aiokafka", "roundrobin")]
)
def test_a_dead_member_is_missed_when_the_test_says_so(
    clock: VirtualClock, broker: Broker, topic: str, group: str, client: str, assignor: str
) -> None:
    broker.create_topic(topic, partitions=6)
    with group_of(client, broker.bootstrap_servers, group, topic, assignor) as members:
        survivor = members.join(session_timeout_ms="300000")
        victim = members.join(session_timeout_ms="6000")
        members.wait_for_share((survivor, 3), (victim, 3))
        victim.kill()
        clock.advance(5_999)
        assert state_of(broker, group) == (ConsumerGroupState.STABLE, 2)
        clock.advance(1)
        members.wait_for_share((survivor, 6))
        assert state_of(broker, group) == (ConsumerGroupState.STABLE, 1)


def test_a_living_member_that_the_clock_expelled_joins_again(
    clock: VirtualClock, broker: Broker, topic: str, group: str
) -> None:
    broker.create_topic(topic, partitions=2)
    with group_of("confluent-kafka", broker.bootstrap_servers, group, topic, "range") as members:
        member = members.join(session_timeout_ms="6000")
        members.wait_for_share((member, 2))
        assignments_before = member.assignments
        clock.advance(DAY)
        members.wait(
            lambda: member.assignments >= assignments_before + 2 and len(member.assigned) == 2,
            "lost and assigned again",
        )


def test_records_grow_old_alone_when_only_the_wall_clock_is_set(
    clock: VirtualClock, broker: Broker, topic: str, group: str
) -> None:
    broker.create_topic(topic, config={"retention.ms": str(WEEK_MS)})
    deliver(broker.bootstrap_servers, topic, [Sent(0, None, b"old")])
    with group_of("confluent-kafka", broker.bootstrap_servers, group, topic, "range") as members:
        member = members.join(session_timeout_ms="300000")
        members.wait_for_share((member, 1))
        clock.set_wall_ms(clock.now_ms() + WEEK_MS + 1)
        clock.advance(30_000)  # the first look after a start
        assert first_offset(broker, topic) == 1
        assert state_of(broker, group) == (ConsumerGroupState.STABLE, 1)


def test_a_member_of_the_new_protocol_is_fenced(clock: VirtualClock, broker: Broker, topic: str, group: str) -> None:
    broker.create_topic(topic)
    with group_of("consumer-protocol", broker.bootstrap_servers, group, topic, "uniform") as members:
        member = members.join()
        members.wait_for_share((member, 1))
        member.kill()
        clock.advance(44_999)
        assert state_of(broker, group) == (ConsumerGroupState.STABLE, 1)
        clock.advance(1)
        assert state_of(broker, group) == (ConsumerGroupState.EMPTY, 0)


def test_committed_offsets_expire(clock: VirtualClock, broker: Broker, topic: str, group: str) -> None:
    broker.create_topic(topic)
    with client_confluent.consumer(broker.bootstrap_servers, group) as consumer:
        consumer.commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
        clock.advance(7 * DAY - timedelta(milliseconds=1))
        assert _committed(consumer, topic) == 5
        clock.advance(OFFSETS_CHECK)
        assert _committed(consumer, topic) < 0


def _committed(consumer: Consumer, topic: str) -> int:
    (partition,) = consumer.committed([TopicPartition(topic, 0)], DEADLINE_S)
    return int(partition.offset)


def test_a_record_that_a_share_consumer_keeps_to_itself_goes_to_another(
    clock: VirtualClock, broker: Broker, topic: str, group: str
) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic)
    configure_group(servers, group)
    deliver(servers, topic, [Sent(0, None, b"kept")])
    with share_consumer(servers, group, topic) as first, share_consumer(servers, group, topic) as second:
        assert _next_value(first) == b"kept"
        deliver(servers, topic, [Sent(0, None, b"free")])
        assert _next_value(second) == b"free"
        clock.advance(30_000)
        assert _next_value(second) == b"kept"


def _next_value(consumer: Any) -> bytes:
    """Acknowledged only if it is free for all."""
    for _ in range(int(DEADLINE_S)):
        for message in consumer.poll(1):
            if message.value() == b"free":
                consumer.acknowledge(message, ACCEPT)
            return bytes(message.value())
    raise AssertionError("no record came")


# --- transactions


@pytest.mark.parametrize("client", TRANSACTIONAL, ids=lambda client: client.name)
def test_a_transaction_that_takes_too_long_is_aborted(
    clock: VirtualClock, broker: Broker, topic: str, client: TransactionalClient
) -> None:
    broker.create_topic(topic)
    servers = broker.bootstrap_servers
    slow = client_confluent.producer(servers, **{"transactional.id": "slow", "transaction.timeout.ms": 60_000})
    slow.init_transactions(DEADLINE_S)
    slow.begin_transaction()
    slow.produce(topic, b"too late", partition=0)
    assert slow.flush(DEADLINE_S) == 0
    deliver(servers, topic, [Sent(0, None, b"behind it")])
    clock.advance(60_000)
    assert client.read(servers, topic, COMMITTED) == []
    clock.advance(TRANSACTIONS_CHECK)
    assert client.read(servers, topic, COMMITTED) == [b"behind it"]
    with pytest.raises(KafkaException):
        slow.commit_transaction(DEADLINE_S)


# --- what stays real


def test_a_client_waits_in_real_time(broker: Broker, topic: str) -> None:
    """Nobody moves the clock, and yet a fetch that finds nothing is answered, and the consumer can ask again."""
    broker.create_topic(topic)
    with client_confluent.consumer(broker.bootstrap_servers, "g", **{"enable.partition.eof": True}) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        message = consumer.poll(DEADLINE_S)
        assert message is not None
        assert message.error() is not None  # the end of the partition, which only an answer tells
        deliver(broker.bootstrap_servers, topic, [Sent(0, None, b"x")])
        message = consumer.poll(DEADLINE_S)
        assert message is not None
        assert message.value() == b"x"


def test_a_test_on_its_own_event_loop(clock: VirtualClock, broker: Broker, topic: str) -> None:
    broker.create_topic(topic, config={"retention.ms": str(WEEK_MS)})

    async def scenario() -> None:
        async with client_aiokafka.producer(broker.bootstrap_servers) as producer:
            await producer.send_and_wait(topic, b"old")
            clock.advance(8 * DAY)
            await producer.send_and_wait(topic, b"new")
        async with client_aiokafka.consumer(broker.bootstrap_servers, topic) as consumer:
            record = await asyncio.wait_for(consumer.getone(), DEADLINE_S)
            assert (record.offset, record.value) == (1, b"new")

    asyncio.run(scenario())
