"""Acknowledgements, idempotence, sizes: what producers rely on."""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import client_aiokafka
import client_kafka_python
import pytest
from aiokafka.errors import MessageSizeTooLargeError as AioMessageSizeTooLarge
from answer_cutting_proxy import AnswerCuttingProxy, answer_cutting_proxy
from client_aiokafka import AioKafka
from client_confluent import ConfluentKafka, consumer, deliver, take
from client_kafka_python import KafkaPython
from client_kcat import run as run_kcat
from client_records import DEADLINE_S, Sent, wait_until
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from kafka.errors import MessageSizeTooLargeError

from barnabas.testing import Broker

pytestmark = pytest.mark.clients

WRITERS = {client.name: client for client in (ConfluentKafka(), KafkaPython(), AioKafka())}


def records(count: int, *, size: int = 10) -> list[Sent]:
    return [Sent(0, b"k%d" % number, b"v%d".ljust(size) % number) for number in range(count)]


def values(servers: str, topic: str, count: int) -> list[bytes]:
    return [seen.value or b"" for seen in ConfluentKafka().read(servers, topic, {0: count})]


@pytest.mark.parametrize("acks", [1, "all"])
@pytest.mark.parametrize("name", WRITERS)
def test_an_acknowledged_record_is_there(broker: Broker, topic: str, name: str, acks: int | str) -> None:
    broker.create_topic(topic)
    writer = WRITERS[name]
    options: dict[str, Any] = {"enable_idempotence": False} if name == "kafka-python" else {}
    offsets = writer.write(broker.bootstrap_servers, topic, records(20), acks=acks, **options)
    assert offsets == list(range(20))
    assert values(broker.bootstrap_servers, topic, 20) == [each.value for each in records(20)]


def test_records_without_acknowledgement_arrive_too(broker: Broker, topic: str) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic)
    sent = records(5)
    deliver(servers, topic, sent, acks=0)
    with closing(client_kafka_python.producer(servers, acks=0, enable_idempotence=False)) as writer:
        for record in sent:
            client_kafka_python.send(writer, topic, record)
        writer.flush(DEADLINE_S)

    async def with_aiokafka() -> None:
        async with client_aiokafka.producer(servers, acks=0) as writer:
            for record in sent:
                await client_aiokafka.send(writer, topic, record)

    asyncio.run(with_aiokafka())
    run_kcat("-b", servers, "-P", "-t", topic, "-X", "acks=0", stdin=b"\n".join(record.value or b"" for record in sent))
    assert values(servers, topic, 20) == [record.value for record in sent] * 4


@pytest.fixture(scope="module")
def lossy() -> Iterator[tuple[Broker, AnswerCuttingProxy]]:
    """A broker that advertises a proxy, which loses every third answer to a produce request."""
    with answer_cutting_proxy(every=3) as proxy:
        properties = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{proxy.port}"}
        with Broker(process=True, properties=properties) as broker:
            proxy.start(broker.port)
            yield broker, proxy


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("confluent-kafka", {"enable.idempotence": True, "linger.ms": 0, "batch.num.messages": 5}),
        ("kafka-python", {"enable_idempotence": True, "batch_size": 64}),
        ("aiokafka", {"enable_idempotence": True, "max_batch_size": 64}),
    ],
)
def test_idempotent_records_are_there_once_though_answers_were_lost(
    lossy: tuple[Broker, AnswerCuttingProxy], topic: str, name: str, options: dict[str, Any]
) -> None:
    broker, proxy = lossy
    broker.create_topic(topic)
    writer = WRITERS[name]
    cuts = proxy.cuts
    offsets = writer.write(broker.bootstrap_servers, topic, records(40), **options)
    assert proxy.cuts > cuts, "no answer was lost: nothing was shown"
    assert offsets == list(range(40))
    assert values(broker.bootstrap_servers, topic, 40) == [each.value for each in records(40)]
    with consumer(broker.bootstrap_servers, "unused") as reader:
        assert reader.get_watermark_offsets(TopicPartition(topic, 0)) == (0, 40)


def test_idempotent_producers_get_ids_of_their_own(broker: Broker, topic: str) -> None:
    broker.create_topic(topic)
    for _ in range(3):
        assert deliver(broker.bootstrap_servers, topic, records(2), **{"enable.idempotence": True})
    assert len(values(broker.bootstrap_servers, topic, 6)) == 6


def test_a_message_larger_than_the_topic_allows_is_refused(broker: Broker, topic: str) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic, config={"max.message.bytes": "2000"})
    large = [Sent(0, None, os.urandom(3000))]
    with pytest.raises(KafkaException) as refused:
        deliver(servers, topic, large)
    assert refused.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    with pytest.raises(MessageSizeTooLargeError):
        KafkaPython().write(servers, topic, large)
    with pytest.raises(AioMessageSizeTooLarge):
        AioKafka().write(servers, topic, large)
    deliver(servers, topic, records(1))
    assert values(servers, topic, 1) == [records(1)[0].value]


def test_large_messages_pass_where_the_topic_allows_them(broker: Broker, topic: str) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic, config={"max.message.bytes": "20000000"})
    large = [Sent(0, None, os.urandom(8_000_000)), Sent(0, None, os.urandom(3_000_000))]
    deliver(servers, topic, large, **{"message.max.bytes": 20_000_000})
    # Larger than the consumers' fetch limits: the first batch is returned anyway, so that no consumer is stuck.
    for reader in (ConfluentKafka(), KafkaPython(), AioKafka()):
        assert [seen.value for seen in reader.read(servers, topic, {0: 2})] == [each.value for each in large]


def test_unknown_topics_are_told_as_clients_expect(broker: Broker, topic: str) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic)
    with pytest.raises(KafkaException) as refused:
        deliver(servers, topic, [Sent(7, None, b"no such partition")])
    assert refused.value.args[0].code() in (KafkaError._UNKNOWN_PARTITION, KafkaError.UNKNOWN_TOPIC_OR_PART)
    with consumer(servers, "unused") as reader:
        reader.subscribe(["no-such-topic"])
        message = reader.poll(DEADLINE_S)
        assert message is not None
        assert message.error().code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)
    with pytest.raises(KafkaException) as invalid:
        deliver(servers, "not a valid name!", records(1))
    assert invalid.value.args[0].code() in (KafkaError.TOPIC_EXCEPTION, KafkaError._UNKNOWN_TOPIC)


def test_the_broker_sets_the_time_where_the_topic_says_so(broker: Broker, topic: str) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic, config={"message.timestamp.type": "LogAppendTime"})
    before = int(time.time() * 1000)
    (report,) = deliver(servers, topic, [Sent(0, None, b"v", (), 12345)], **{"compression.codec": "lz4"})
    kafka_python_offset = KafkaPython().write(servers, topic, [Sent(0, None, b"v", (), 12345)])
    after = int(time.time() * 1000)
    assert kafka_python_offset == [1]
    assert report.timestamp()[1] >= before
    with consumer(servers, "unused") as reader:
        reader.assign([TopicPartition(topic, 0, 0)])
        for message in take(reader, 2):
            kind, timestamp = message.timestamp()
            assert kind == 2, "LogAppendTime"
            assert before <= timestamp <= after
    for other in (KafkaPython(), AioKafka()):
        assert all(before <= seen.timestamp <= after for seen in other.read(servers, topic, {0: 2}))


@pytest.mark.parametrize("codec", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_the_broker_compresses_as_the_topic_says(broker: Broker, topic: str, codec: str) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic, config={"compression.type": codec})
    sent = [Sent(0, b"k%d" % number, b"x" * 500, (("h", b"1"),), 1_700_000_000_000 + number) for number in range(50)]
    for given in ("none", "lz4"):
        ConfluentKafka().write(servers, topic, sent, codec=given)
    for reader in (ConfluentKafka(), KafkaPython(), AioKafka()):
        seen = reader.read(servers, topic, {0: 100})
        assert [each[2:] for each in seen] == [(s.timestamp, s.key, s.value, s.headers) for s in sent * 2]
        assert [each.offset for each in seen] == list(range(100))
    stored = sum(
        entry.stat().st_size
        for entry in os.scandir(os.path.join(broker.data_dir, f"{topic}-0"))
        if entry.name.endswith(".log")
    )
    assert (stored > 50_000) == (codec == "uncompressed")


def test_many_partitions(broker: Broker, topic: str) -> None:
    servers = broker.bootstrap_servers
    count = 200
    broker.create_topic(topic, partitions=count)
    sent = [Sent(number % count, None, b"%d" % number) for number in range(2 * count)]
    deliver(servers, topic, sent)
    expected = sorted((record.partition, record.value) for record in sent)
    for reader in (ConfluentKafka(), KafkaPython(), AioKafka()):
        seen = reader.read(servers, topic, dict.fromkeys(range(count), 2))
        assert sorted((each.partition, each.value) for each in seen) == expected


def test_refused_records_without_acknowledgement_do_no_harm(broker: Broker, topic: str) -> None:
    servers = broker.bootstrap_servers
    broker.create_topic(topic, config={"max.message.bytes": "2000"})
    deliver(servers, topic, [Sent(0, None, os.urandom(3000))], acks=0)
    deliver(servers, topic, records(1), acks=0)
    with consumer(servers, "unused") as reader:
        partition = TopicPartition(topic, 0)
        wait_until(lambda: reader.get_watermark_offsets(partition) == (0, 1), "the second record is there")
