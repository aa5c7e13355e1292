"""Writers with Arrow batches as from Spark, against a real broker; other clients read the records."""

import pickle
import threading
import uuid
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import confluent_kafka
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas.client.partitioning import murmur2, partition_of_hash
from barnabas.spark.errors import UserError
from barnabas.spark.options.sink import sink_options
from barnabas.spark.sink.batch_writer import BatchWriter
from barnabas.spark.sink.delivery import Written
from barnabas.spark.sink.stream_writer import StreamWriter
from barnabas.testing import Broker

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
ARROW_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
TYPES: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "headers": HEADERS,
    "timestamp": TimestampType(),
}


class Read(NamedTuple):
    partition: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp: int


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def topic(broker: Broker) -> str:
    name = f"t-{uuid.uuid4().hex[:8]}"
    broker.create_topic(name, partitions=4)
    return name


def writer_of(broker: Broker, columns: dict[str, Any], **options: str) -> BatchWriter:
    """A writer for these columns, as a task gets it."""
    schema = StructType([StructField(name, TYPES[name]) for name in columns])
    named = {name.replace("_", "."): value for name, value in options.items()}
    made = BatchWriter(sink_options({"kafka.bootstrap.servers": broker.bootstrap_servers, **named}), schema)
    copied: BatchWriter = pickle.loads(pickle.dumps(made))
    return copied


def write(broker: Broker, columns: dict[str, Any], **options: str) -> int:
    message = writer_of(broker, columns, **options).write(iter([pa.record_batch(columns)]))
    assert isinstance(message, Written)
    return message.rows


def read(broker: Broker, topic: str, count: int) -> list[Read]:
    """All records, by partition and offset; fails if there are more than `count`."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": uuid.uuid4().hex,
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    found: list[tuple[int, int, Read]] = []
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([confluent_kafka.TopicPartition(topic, index, 0) for index in partitions])
    ended: set[int] = set()
    while len(ended) < len(partitions):
        message = consumer.poll(30)
        assert message is not None
        if message.error() is not None:
            assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
            ended.add(message.partition())
            continue
        record = Read(
            message.partition(), message.key(), message.value(), message.headers() or [], message.timestamp()[1]
        )
        found.append((message.partition(), message.offset(), record))
    consumer.close()
    assert len(found) == count
    return [record for _, _, record in sorted(found, key=lambda one: one[:2])]


def test_every_column(broker: Broker, topic: str) -> None:
    columns = {
        "key": pa.array([b"a", None, b"", b"k" * 100], pa.binary()),
        "value": pa.array([b"1", b"2", None, b""], pa.binary()),
        "partition": pa.array([3, 0, 0, 3], pa.int32()),
        "headers": pa.array(
            [[{"key": "h", "value": b"x"}, {"key": "", "value": None}], None, [], [{"key": "\u03c0", "value": b""}]],
            ARROW_HEADERS,
        ),
        "timestamp": pa.array(
            [datetime(2020, 1, 2, 3, 4, 5, 678_900, UTC), datetime(1970, 1, 1, tzinfo=UTC), None, None],
            pa.timestamp("us", "UTC"),
        ),
    }
    before = int(datetime.now(UTC).timestamp() * 1000)
    assert write(broker, columns, topic=topic) == 4
    records = read(broker, topic, 4)
    after = int(datetime.now(UTC).timestamp() * 1000) + 1
    assert [one[:4] for one in records] == [
        (0, None, b"2", []),
        (0, b"", None, []),
        (3, b"a", b"1", [("h", b"x"), ("", None)]),
        (3, b"k" * 100, b"", [("\u03c0", b"")]),
    ]
    assert [records[0].timestamp, records[2].timestamp] == [0, 1_577_934_245_678]
    assert all(before <= one.timestamp <= after for one in (records[1], records[3]))


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("codec", CODECS)
def test_other_clients_read_every_codec(broker: Broker, topic: str, codec: str) -> None:
    values = [b"value %d " % number * (number % 7) for number in range(5000)]
    keys = [b"%d" % number for number in range(5000)]
    columns = {"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())}
    options = {"topic": topic, "kafka_compression_type": codec, "kafka_batch_size": "10000"}
    assert write(broker, columns, **options) == 5000
    records = read(broker, topic, 5000)
    assert {(one.key, one.value) for one in records} == set(zip(keys, values, strict=True))
    assert all(one.partition == partition_of_hash(murmur2(one.key or b""), 4) for one in records)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of kafka-python's own ways
        from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest", consumer_timeout_ms=30_000
    )
    consumer.assign([TopicPartition(topic, index) for index in range(4)])
    by_kafka_python = [next(consumer) for _ in range(5000)]
    consumer.close()
    order = sorted(by_kafka_python, key=lambda one: (one.partition, one.offset))
    assert [(one.partition, one.key, one.value) for one in order] == [one[:3] for one in records]


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.binary()),
    ],
    ids=str,
)
def test_strings_and_bytes_in_every_form(broker: Broker, topic: str, kind: Any) -> None:
    texts = ["before", "one", None, "", "zw\u00f6lf", "one", "after"]
    plain = pa.array(texts, pa.string())
    column = (
        plain.cast(pa.binary()).dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else plain.cast(kind)
    )
    sliced = column.slice(1, 5)
    columns = {"key": sliced, "value": sliced, "partition": pa.array([1] * 5, pa.int32())}
    assert write(broker, columns, topic=topic) == 5
    expected = [None if text is None else text.encode() for text in texts[1:6]]
    assert [(one.key, one.value) for one in read(broker, topic, 5)] == [(one, one) for one in expected]


def test_rows_of_several_topics_with_and_without_partition(broker: Broker) -> None:
    names = [f"several-{index}-{uuid.uuid4().hex[:6]}" for index in range(3)]
    for index, name in enumerate(names):
        broker.create_topic(name, partitions=index + 1)
    count = 3000
    columns = {
        "topic": pa.array([names[row % 3] for row in range(count)], pa.string()),
        "key": pa.array([b"%d" % row for row in range(count)], pa.binary()),
        "value": pa.array([b"%d" % row for row in range(count)], pa.binary()),
        "partition": pa.array([0 if row % 2 else None for row in range(count)], pa.int32()),
    }
    assert write(broker, columns) == count
    for index, name in enumerate(names):
        records = read(broker, name, count // 3)
        assert {int(one.value or b"") for one in records} == set(range(index, count, 3))
        for one in records:
            by_key = partition_of_hash(murmur2(one.key or b""), index + 1)
            assert one.partition == (0 if int(one.value or b"") % 2 else by_key)
        for partition in range(index + 1):
            order = [int(one.value or b"") for one in records if one.partition == partition]
            assert order == sorted(order)


def test_the_option_topic_wins_over_the_column(broker: Broker, topic: str) -> None:
    columns = {"topic": pa.array([None, "elsewhere"], pa.string()), "value": pa.array([b"1", b"2"], pa.binary())}
    assert write(broker, columns, topic=topic) == 2
    assert {one.value for one in read(broker, topic, 2)} == {b"1", b"2"}


def test_many_batches_keep_their_order_and_spread(broker: Broker, topic: str) -> None:
    """Without keys, in batches of all sizes, some of them empty."""
    sizes = [0, 1, 5000, 17, 0, 20_000, 3]
    columns = {"value": pa.array([], pa.binary())}
    values = iter(range(sum(sizes)))
    batches = [
        pa.record_batch({"value": pa.array([b"%08d" % next(values) + b"." * 60 for _ in range(size)], pa.binary())})
        for size in sizes
    ]
    message = writer_of(broker, columns, topic=topic).write(iter(batches))
    assert message == Written(sum(sizes))
    records = read(broker, topic, sum(sizes))
    assert sorted(int((one.value or b"")[:8]) for one in records) == list(range(sum(sizes)))
    by_partition: dict[int, list[int]] = defaultdict(list)
    for one in records:
        by_partition[one.partition].append(int((one.value or b"")[:8]))
    assert all(order == sorted(order) for order in by_partition.values())
    assert len(by_partition) == 4
    assert min(map(len, by_partition.values())) > 1000


@pytest.mark.parametrize(
    ("name", "even"), [("round-robin", True), ("random", False), ("sticky", False), ("crc32", False)]
)
def test_other_partitioners(broker: Broker, topic: str, name: str, even: bool) -> None:
    columns = {
        "key": pa.array([b"k%d" % row for row in range(4000)], pa.binary()),
        "value": pa.array([b"v" * 100] * 4000, pa.binary()),
    }
    assert write(broker, columns, topic=topic, partitioner=name) == 4000
    counts = Counter(one.partition for one in read(broker, topic, 4000))
    assert set(counts) == {0, 1, 2, 3}
    assert not even or set(counts.values()) == {1000}


def test_timestamps_in_milliseconds(broker: Broker, topic: str) -> None:
    schema = StructType([StructField("value", StringType()), StructField("timestamp", LongType())])
    options = sink_options({"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topic})
    batch = pa.record_batch({"value": pa.array(["v"]), "timestamp": pa.array([1_234_567_890_123], pa.int64())})
    StreamWriter(options, schema).write(iter([batch]))
    assert [one.timestamp for one in read(broker, topic, 1)] == [1_234_567_890_123]


def test_no_rows_at_all(broker: Broker, topic: str) -> None:
    columns = {"value": pa.array([], pa.binary())}
    assert writer_of(broker, columns, topic=topic).write(iter([])) == Written(0)
    assert write(broker, columns, topic=topic) == 0
    assert read(broker, topic, 0) == []


def test_large_values_and_batches_larger_than_the_topic_takes(broker: Broker) -> None:
    name = f"small-{uuid.uuid4().hex[:6]}"
    broker.create_topic(name, config={"max.message.bytes": "20000"})
    values = [np.random.default_rng(row).bytes(1 + row * 37 % 15_000) for row in range(300)]
    columns = {"value": pa.array(values, pa.binary())}
    assert write(broker, columns, topic=name) == 300
    assert [one.value for one in read(broker, name, 300)] == values


@pytest.mark.parametrize(
    ("columns", "options", "said", "hint"),
    [
        (
            {"topic": pa.array(["t", None]), "value": pa.array([b"1", b"2"])},
            {},
            "The Kafka message data sent to the producer contains a null topic. Use the `topic` option",
            'option("topic", "NAME")',
        ),
        (
            {"value": pa.array([b"x" * 2000])},
            {"topic": "large", "kafka_max_request_size": "1000"},
            "larger than 1000, the value of the option kafka.max.request.size",
            "raise kafka.max.request.size",
        ),
        (
            {"value": pa.array([b"v"]), "partition": pa.array([7], pa.int32())},
            {"topic": "one-partition"},
            "there is no partition 7 in topic one-partition, which has 1",
            "choose one from 0 to 0",
        ),
        (
            {"value": pa.array([b"v"]), "partition": pa.array([-1], pa.int32())},
            {"topic": "one-partition"},
            "Invalid partition: -1.",
            "set it to null",
        ),
        (
            {"value": pa.array([b"v"]), "timestamp": pa.array([-1000], pa.timestamp("us", "UTC"))},
            {"topic": "one-partition"},
            "Invalid timestamp: -1.",
            "set the timestamp to null",
        ),
        (
            {"value": pa.array([b"v"]), "headers": pa.array([[{"key": None, "value": b""}]], ARROW_HEADERS)},
            {"topic": "one-partition"},
            "The column headers cannot be written: a header has no key.",
            "remove such entries",
        ),
        (
            {"value": pa.array([b"v"]), "topic": pa.array([""])},
            {},
            "A row's topic is empty.",
            "correct the column topic",
        ),
        (
            {"value": pa.array([b"v"])},
            {"topic": "no/such name"},
            "'no/such name' cannot be written to",
            "249 letters",
        ),
    ],
)
def test_rows_that_are_refused(
    broker: Broker, columns: dict[str, Any], options: dict[str, str], said: str, hint: str
) -> None:
    with pytest.raises(UserError) as refused:
        write(broker, columns, **options)
    assert said in refused.value.message
    assert hint in refused.value.hint


def test_a_row_that_the_topic_does_not_take(broker: Broker) -> None:
    name = f"tiny-{uuid.uuid4().hex[:6]}"
    broker.create_topic(name, config={"max.message.bytes": "500"})
    with pytest.raises(UserError, match=r"max\.message\.bytes"):
        write(broker, {"value": pa.array([b"fits", b"x" * 1000], pa.binary())}, topic=name)


def test_nobody_listens() -> None:
    schema = StructType([StructField("value", StringType())])
    properties = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": "100", "topic": "t"}
    writer = BatchWriter(sink_options(properties), schema)
    with pytest.raises(UserError, match=r"cannot reach 127\.0\.0\.1:1"):
        writer.write(iter([pa.record_batch({"value": pa.array(["v"])})]))


@pytest.mark.crash
@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_a_broker_that_is_killed_meanwhile_loses_and_doubles_nothing(codec: str) -> None:
    """Tasks are at least once; within one task, the idempotent producer prevents duplicates."""
    size, count = 1000, 50

    def batches(broker: Broker) -> Iterator[Any]:
        for index in range(count):
            if index in (10, 30):
                restarting = threading.Thread(target=_restart, args=(broker,))
                restarting.start()
            yield pa.record_batch(
                {
                    "value": pa.array(
                        [b"%09d" % row * 20 for row in range(index * size, (index + 1) * size)], pa.binary()
                    )
                }
            )
            if index in (11, 31):
                restarting.join()

    with Broker(process=True) as broker:
        broker.create_topic("t", partitions=3)
        options = {"topic": "t", "kafka_compression_type": codec, "kafka_batch_size": "20000"}
        writer = writer_of(broker, {"value": None}, **options)
        assert writer.write(batches(broker)) == Written(size * count)
        rows = [int((one.value or b"")[:9]) for one in read(broker, "t", size * count)]
        assert sorted(rows) == list(range(size * count))


def _restart(broker: Broker) -> None:
    broker.kill()
    broker.start()
