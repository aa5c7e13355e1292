"""The broker restarts while clients are working."""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import closing
from threading import Thread

import client_aiokafka
import client_kafka_python
import pytest
from client_confluent import ConfluentKafka, consumer, producer, take
from client_records import DEADLINE_S, Sent
from group_feed import Feed
from group_process import group_of

from barnabas.testing import Broker

pytestmark = [
    pytest.mark.clients,
    pytest.mark.crash,
    # kafka-python and aiokafka leave sockets that could not connect to the collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

COUNT = 300


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    with Broker(process=True, properties={"group.min.session.timeout.ms": "100"}) as broker:
        yield broker
    gc.collect()  # now, while their warnings are ignored


def restart_meanwhile(broker: Broker, how: str) -> Thread:
    def restart() -> None:
        if how == "kill":
            broker.kill()
        broker.restart()

    thread = Thread(target=restart)
    thread.start()
    return thread


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_confluent_kafka_writes_on(own_broker: Broker, topic: str, how: str) -> None:
    servers = own_broker.bootstrap_servers
    own_broker.create_topic(topic)
    delivered: list[bytes] = []
    writer = producer(servers, **{"enable.idempotence": True, "linger.ms": 0, "batch.num.messages": 10})
    for number in range(COUNT):
        writer.produce(topic, b"%d" % number, on_delivery=lambda _, message: delivered.append(message.value()))
        if number == COUNT // 3:
            writer.poll(DEADLINE_S)
            restarting = restart_meanwhile(own_broker, how)
    assert writer.flush(DEADLINE_S) == 0
    restarting.join()
    assert delivered == [b"%d" % number for number in range(COUNT)]
    assert [seen.value for seen in ConfluentKafka().read(servers, topic, {0: COUNT})] == delivered


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_kafka_python_writes_on(own_broker: Broker, topic: str, how: str) -> None:
    servers = own_broker.bootstrap_servers
    own_broker.create_topic(topic)
    with closing(client_kafka_python.producer(servers, reconnect_backoff_max_ms=200, batch_size=200)) as writer:
        futures = [writer.send(topic, b"%d" % number) for number in range(COUNT // 2)]
        restarting = restart_meanwhile(own_broker, how)
        futures += [writer.send(topic, b"%d" % number) for number in range(COUNT // 2, COUNT)]
        assert [future.get(DEADLINE_S).offset for future in futures] == list(range(COUNT))
        restarting.join()
    expected = [b"%d" % number for number in range(COUNT)]
    assert [seen.value for seen in ConfluentKafka().read(servers, topic, {0: COUNT})] == expected


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_aiokafka_writes_on(own_broker: Broker, topic: str, how: str) -> None:
    servers = own_broker.bootstrap_servers
    own_broker.create_topic(topic)

    async def write() -> list[int]:
        async with client_aiokafka.producer(servers, enable_idempotence=True, max_batch_size=200) as writer:
            first = [await client_aiokafka.send(writer, topic, Sent(0, None, b"%d" % n)) for n in range(COUNT // 2)]
            restarting = restart_meanwhile(own_broker, how)
            second = [
                await client_aiokafka.send(writer, topic, Sent(0, None, b"%d" % n)) for n in range(COUNT // 2, COUNT)
            ]
            answers = await asyncio.wait_for(asyncio.gather(*first, *second), DEADLINE_S)
            await asyncio.to_thread(restarting.join)
            return [answer.offset for answer in answers]

    assert asyncio.run(write()) == list(range(COUNT))
    expected = [b"%d" % number for number in range(COUNT)]
    assert [seen.value for seen in ConfluentKafka().read(servers, topic, {0: COUNT})] == expected


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize(
    ("client", "assignor"), [("confluent-kafka", "range"), ("kafka-python", "range"), ("aiokafka", "range")]
)
def test_a_group_reads_on(own_broker: Broker, topic: str, group: str, client: str, assignor: str, how: str) -> None:
    own_broker.create_topic(topic, partitions=4)
    feed = Feed(own_broker.bootstrap_servers, topic, 4)
    with group_of(client, own_broker.bootstrap_servers, group, topic, assignor) as members:
        first, second = members.join(), members.join()
        members.wait_for_share((first, 2), (second, 2))
        feed.send()
        feed.wait_until_read_by(members)
        restart_meanwhile(own_broker, how).join()
        feed.send()
        feed.assert_read_by(members)


def test_offsets_and_configs_are_there_after_a_restart(own_broker: Broker, topic: str, group: str) -> None:
    servers = own_broker.bootstrap_servers
    own_broker.create_topic(topic, config={"message.timestamp.type": "LogAppendTime"})
    ConfluentKafka().write(servers, topic, [Sent(0, None, b"%d" % number) for number in range(10)])
    with consumer(servers, group) as reader:
        reader.subscribe([topic])
        reader.commit(message=take(reader, 4)[-1], asynchronous=False)
    before = ConfluentKafka().read(servers, topic, {0: 10})
    own_broker.restart()
    assert ConfluentKafka().read(servers, topic, {0: 10}) == before
    with consumer(servers, group) as reader:
        reader.subscribe([topic])
        assert take(reader, 1)[0].offset() == 4
