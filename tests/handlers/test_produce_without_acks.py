"""acks=0: no answer on success, and a closed connection on an error."""

import datetime

import pytest

from barnabas.records.record import Record, build_batch
from barnabas.testing import Broker
from barnabas.testing.client import ConnectionClosed
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

VERSION = 9


def _produce(topic: str) -> ProduceRequest:
    batch = build_batch([Record(0, 1_750_000_000_000, None, b"value", ())])
    data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=0, records=batch),))
    return ProduceRequest(acks=0, timeout=datetime.timedelta(seconds=1), topic_data=(data,))


def test_a_good_request_is_not_answered_and_the_next_one_is(barnabas_broker: Broker, barnabas_topic: str) -> None:
    barnabas_broker.create_topic(barnabas_topic)
    with barnabas_broker.connect() as client:
        client.send("produce", VERSION, _produce(barnabas_topic))
        client.forget()
        assert client.call("metadata", 12, MetadataRequest(topics=())).brokers


def test_a_refused_request_closes_the_connection(barnabas_broker: Broker, barnabas_topic: str) -> None:
    with barnabas_broker.connect() as client:
        client.send("produce", VERSION, _produce(barnabas_topic))
        client.forget()
        with pytest.raises(ConnectionClosed):
            client.receive_frame()
