"""Four ways to commit a position, and what each has committed when the consumer is gone.

A position is the offset of the next record to read. What a group has committed is where its next member begins.
"""

import threading
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.testing import Broker

pytestmark = pytest.mark.clients


def send(broker: Broker, topic: str, count: int) -> None:
    broker.create_topic(topic)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(count):
        producer.produce(topic, str(number))
    assert producer.flush(20) == 0


def member(broker: Broker, topic: str, config: dict[str, Any]) -> Consumer:
    """A member of the group `topic`."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            **config,
        }
    )
    consumer.subscribe([topic])
    return consumer


def take(consumer: Consumer, count: int) -> list[str]:
    values = []
    for _ in range(count):
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None, message.error()
        values.append(message.value().decode())
    return values


def committed(broker: Broker, topic: str) -> int:
    """-1001 (OFFSET_INVALID): nothing."""
    onlooker = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": topic})
    try:
        (position,) = onlooker.committed([TopicPartition(topic, 0)], timeout=20)
    finally:
        onlooker.close()
    return int(position.offset)


def test_automatic(barnabas_broker: Broker, barnabas_topic: str) -> None:
    """The client commits by itself, every `auto.commit.interval.ms` and when it is closed, what `poll` has returned.

    It does not know whether you have processed it: a record that was returned counts as done.
    """
    send(barnabas_broker, barnabas_topic, 5)
    consumer = member(barnabas_broker, barnabas_topic, {"enable.auto.commit": True})
    assert take(consumer, 3) == ["0", "1", "2"]
    consumer.close()
    assert committed(barnabas_broker, barnabas_topic) == 3


def test_automatic_in_the_background(barnabas_broker: Broker, barnabas_topic: str) -> None:
    """No close is needed: the interval is enough. The callback tells when it has happened."""
    send(barnabas_broker, barnabas_topic, 5)
    was_called = threading.Event()
    consumer = member(
        barnabas_broker,
        barnabas_topic,
        {
            "enable.auto.commit": True,
            "auto.commit.interval.ms": 10,
            "on_commit": lambda error, positions: was_called.set(),
        },
    )
    try:
        take(consumer, 2)
        for _ in range(100):
            if was_called.is_set():
                break
            consumer.poll(0.1)  # callbacks come from poll
        assert was_called.is_set()
        assert committed(barnabas_broker, barnabas_topic) >= 1
    finally:
        consumer.close()


def test_nothing_is_committed_unless_somebody_does(barnabas_broker: Broker, barnabas_topic: str) -> None:
    """Without automatic commits a member that is closed leaves nothing: the next one begins where it began."""
    send(barnabas_broker, barnabas_topic, 2)
    for _ in range(2):
        consumer = member(barnabas_broker, barnabas_topic, {"enable.auto.commit": False})
        assert take(consumer, 2) == ["0", "1"]
        consumer.close()
    assert committed(barnabas_broker, barnabas_topic) == -1001


def test_sync(barnabas_broker: Broker, barnabas_topic: str) -> None:
    """`commit(asynchronous=False)` returns when the broker has it, with the positions, or raises."""
    send(barnabas_broker, barnabas_topic, 5)
    consumer = member(barnabas_broker, barnabas_topic, {"enable.auto.commit": False})
    take(consumer, 4)
    (position,) = consumer.commit(asynchronous=False)
    assert (position.offset, position.error) == (4, None)
    assert committed(barnabas_broker, barnabas_topic) == 4
    consumer.close()


def test_async(barnabas_broker: Broker, barnabas_topic: str) -> None:
    """`commit(asynchronous=True)` returns at once. Only the callback has the result.

    The position is named here: without one it commits what `poll` has returned by the time it comes to it.
    """
    send(barnabas_broker, barnabas_topic, 5)
    answers: list[tuple[object, int]] = []
    consumer = member(
        barnabas_broker,
        barnabas_topic,
        {
            "enable.auto.commit": False,
            "on_commit": lambda error, positions: answers.append((error, positions[0].offset)),
        },
    )
    take(consumer, 2)
    assert consumer.commit(offsets=[TopicPartition(barnabas_topic, 0, 2)], asynchronous=True) is None
    for _ in range(100):
        if answers:
            break
        consumer.poll(0.1)
    assert answers == [(None, 2)]
    assert committed(barnabas_broker, barnabas_topic) == 2
    consumer.close()


def test_stored(barnabas_broker: Broker, barnabas_topic: str) -> None:
    """Automatic commits of what you say is done: `store_offsets` after the work, the client does the rest.

    At least once, without a commit of your own: what was returned and not stored is returned again.
    """
    send(barnabas_broker, barnabas_topic, 5)
    consumer = member(barnabas_broker, barnabas_topic, {"enable.auto.commit": True, "enable.auto.offset.store": False})
    for _ in range(3):
        message = consumer.poll(30)
        assert message is not None
        if message.value() != b"2":  # the third is not finished when the member leaves
            consumer.store_offsets(message)
    consumer.close()
    assert committed(barnabas_broker, barnabas_topic) == 2

    successor = member(barnabas_broker, barnabas_topic, {})
    assert take(successor, 1) == ["2"]
    successor.close()


def test_any_position_can_be_committed(barnabas_broker: Broker, barnabas_topic: str) -> None:
    """Backwards too: that is how a group is made to read again."""
    send(barnabas_broker, barnabas_topic, 5)
    consumer = member(barnabas_broker, barnabas_topic, {"enable.auto.commit": False})
    take(consumer, 5)
    consumer.commit(offsets=[TopicPartition(barnabas_topic, 0, 1)], asynchronous=False)
    consumer.close()
    successor = member(barnabas_broker, barnabas_topic, {})
    assert take(successor, 1) == ["1"]
    successor.close()
