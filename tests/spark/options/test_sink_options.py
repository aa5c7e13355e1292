import pytest

from barnabas.spark.errors import UserError
from barnabas.spark.options.sink import NumberedWrite, sink_options
from barnabas.spark.sink.exactly_once import exactly_once_delivery

LEAST = {"kafka.bootstrap.servers": "localhost:9092"}


def test_defaults() -> None:
    write = sink_options(LEAST)
    assert (write.topic, write.exactly_once, write.exactly_once_id, write.partitioner) == (None, False, None, "murmur2")


def test_values() -> None:
    write = sink_options(
        LEAST
        | {
            "TOPIC": " orders ",
            "exactlyonce": "TRUE",
            "exactlyOnceId": "billing",
            "partitioner": "CRC32",
            "kafka.compression.type": "zstd",
            "includeHeaders": "true",
            "checkpointLocation": "/tmp/x",
        }
    )
    assert (write.topic, write.exactly_once, write.exactly_once_id) == ("orders", True, "billing")
    assert write.partitioner == "crc32"
    assert write.properties["compression.type"] == "zstd"
    assert write.client().bootstrap == (("localhost", 9092),)


def test_a_write_with_a_number() -> None:
    numbered = {"exactlyOnce": "true", "txnAppId": "billing.v1", "txnVersion": "7"}
    assert sink_options(LEAST | numbered).numbered == NumberedWrite("billing.v1", 7)
    with pytest.raises(UserError, match="a stream is identified by its checkpoint"):
        exactly_once_delivery(sink_options(LEAST | numbered), streaming=True)


def test_calls_take_as_long_as_a_producer_may_block() -> None:
    assert sink_options(LEAST | {"kafka.max.block.ms": "1500"}).client().api_timeout_s == 1.5
    assert sink_options(LEAST).client().api_timeout_s == 60


def test_kafkas_own_partitioners_are_known_by_their_class() -> None:
    name = "org.apache.kafka.clients.producer.RoundRobinPartitioner"
    assert sink_options(LEAST | {"kafka.partitioner.class": name}).partitioner == "round-robin"


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"topics": "a"}, "There is no option topics", "did you mean topic?"),
        ({"subscribe": "a"}, "subscribe belongs to the source", "topic"),
        ({"topic": " "}, "topic is empty", "name a topic"),
        ({"exactlyOnceId": "a"}, "exactlyOnce is not", 'option("exactlyOnce", "true")'),
        ({"exactlyOnce": "yes"}, "'yes'", "true or false"),
        ({"exactlyOnce": "true", "kafka.transactional.id": "x"}, "kafka.transactional.id", "exactlyOnceId"),
        ({"exactlyOnce": "true", "kafka.acks": "1"}, "all replicas", "kafka.acks"),
        ({"exactlyOnce": "true", "kafka.enable.idempotence": "false"}, "idempotent", "remove"),
        ({"exactlyOnce": "true", "txnAppId": "a"}, "txnVersion is not", "the number of the batch"),
        ({"exactlyOnce": "true", "txnVersion": "1"}, "txnAppId is not", "as long as the checkpoint"),
        ({"exactlyOnce": "true", "txnAppId": "a", "txnVersion": "-1"}, "'-1'", "at least 0"),
        ({"exactlyOnce": "true", "txnAppId": "a/b", "txnVersion": "1"}, "'a/b'", "letters"),
        ({"txnAppId": "a", "txnVersion": "1"}, "exactlyOnce is not", 'option("exactlyOnce", "true")'),
        ({"kafka.key.serializer": "x"}, "kafka.key.serializer is not supported", "bytes"),
        ({"kafka.value.serializer": "x"}, "kafka.value.serializer is not supported", "bytes"),
        ({"partitioner": "best"}, "no partitioner 'best'", "murmur2"),
        ({"kafka.partitioner.class": "com.acme.Mine"}, "com.acme.Mine, which is Java", "column partition"),
        ({"kafka.compresion.type": "zstd"}, "kafka.compresion.type", "did you mean kafka.compression.type?"),
        ({"path": "/tmp"}, "has no path", "save() or start()"),
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers is missing", "localhost"),
    ],
)
def test_refusals(options: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(UserError) as refusal:
        sink_options(LEAST | options)
    assert message in refusal.value.message
    assert hint in refusal.value.hint
