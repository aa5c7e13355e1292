"""`auto.offset.reset`: where a group starts without a committed offset, or with one that is out of range."""

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from barnabas.testing import Broker

pytestmark = pytest.mark.clients


def send(broker: Broker, topic: str, *values: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(20) == 0


def member(broker: Broker, topic: str, reset: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": topic,
            "auto.offset.reset": reset,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.subscribe([topic])
    return consumer


def next_of(consumer: Consumer) -> Message:
    message = consumer.poll(30)
    assert message is not None
    return message


def value_of(message: Message) -> str:
    assert message.error() is None, message.error()
    value: bytes = message.value()
    return value.decode()


def test_earliest(barnabas_broker: Broker, barnabas_topic: str) -> None:
    """From the first record that is still there."""
    barnabas_broker.create_topic(barnabas_topic)
    send(barnabas_broker, barnabas_topic, "old", "older")
    consumer = member(barnabas_broker, barnabas_topic, "earliest")
    assert value_of(next_of(consumer)) == "old"
    consumer.close()


def test_latest(barnabas_broker: Broker, barnabas_topic: str) -> None:
    """From the end: earlier records are never read. This is the client's default."""
    barnabas_broker.create_topic(barnabas_topic)
    send(barnabas_broker, barnabas_topic, "old")
    consumer = member(barnabas_broker, barnabas_topic, "latest")
    at_the_end = next_of(consumer)
    assert at_the_end.error().code() == KafkaError._PARTITION_EOF
    send(barnabas_broker, barnabas_topic, "new")
    assert value_of(next_of(consumer)) == "new"
    consumer.close()


def test_none(barnabas_broker: Broker, barnabas_topic: str) -> None:
    """An error, for applications that decide themselves (librdkafka calls it `error`)."""
    barnabas_broker.create_topic(barnabas_topic)
    send(barnabas_broker, barnabas_topic, "old")
    consumer = member(barnabas_broker, barnabas_topic, "error")
    assert next_of(consumer).error().code() == KafkaError._AUTO_OFFSET_RESET
    consumer.close()


@pytest.mark.parametrize("reset", ["earliest", "latest", "error"])
def test_a_committed_position_is_kept_to(barnabas_broker: Broker, barnabas_topic: str, reset: str) -> None:
    """The reset is for groups that have none."""
    barnabas_broker.create_topic(barnabas_topic)
    send(barnabas_broker, barnabas_topic, "zero", "one", "two")
    commit(barnabas_broker, barnabas_topic, 1)
    consumer = member(barnabas_broker, barnabas_topic, reset)
    assert value_of(next_of(consumer)) == "one"
    consumer.close()


def test_a_position_that_is_gone(barnabas_broker: Broker, barnabas_topic: str) -> None:
    """Retention or a deletion has passed it: the group starts where the reset says."""
    barnabas_broker.create_topic(barnabas_topic)
    send(barnabas_broker, barnabas_topic, "zero", "one", "two")
    commit(barnabas_broker, barnabas_topic, 1)
    admin = AdminClient({"bootstrap.servers": barnabas_broker.bootstrap_servers})
    (deleted,) = admin.delete_records([TopicPartition(barnabas_topic, 0, 2)]).values()
    assert deleted.result(20).low_watermark == 2
    consumer = member(barnabas_broker, barnabas_topic, "earliest")
    assert value_of(next_of(consumer)) == "two"
    consumer.close()


def commit(broker: Broker, topic: str, offset: int) -> None:
    """From outside the group: an empty group accepts commits from any client."""
    outsider = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": topic})
    outsider.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    outsider.close()
