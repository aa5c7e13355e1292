"""Streams with Spark itself: no record is lost or read twice, whatever happens to query, topic and broker."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import window
from pyspark.sql.streaming import StreamingQuery
from source_world import add_partitions, delete_records, numbered, remake_topic, write

from barnabas.spark.errors import UserError
from barnabas.spark.readable import readable_errors
from barnabas.testing import Broker

pytestmark = pytest.mark.spark

NOW = {"availableNow": True}


class Follower:
    """A query that keeps what it has read; it can be stopped, and started again from its checkpoint."""

    def __init__(self, spark: SparkSession, bootstrap: str, topic: str, checkpoint: Path) -> None:
        self._spark = spark
        self._bootstrap = bootstrap
        self._topic = topic
        self._checkpoint = checkpoint
        self.batches: list[list[bytes]] = []
        self.fails = False
        self.query: StreamingQuery | None = None

    def start(self, *, trigger: Mapping[str, bool] | None = None, **options: str) -> StreamingQuery:
        reader = self._spark.readStream.format("barnabas").option("kafka.bootstrap.servers", self._bootstrap)
        for name, value in {"subscribe": self._topic, "fetchOffset.retryIntervalMs": "10", **options}.items():
            reader = reader.option(name, value)
        writer = reader.load().writeStream.foreachBatch(self._keep).option("checkpointLocation", str(self._checkpoint))
        self.query = (writer.trigger(**trigger) if trigger else writer).start()
        return self.query

    def read(self) -> list[bytes]:
        """Everything up to now."""
        assert self.query is not None
        self.query.processAllAvailable()
        return self.rows

    def finish(self) -> None:
        assert self.query is not None
        assert self.query.awaitTermination(120)

    @property
    def rows(self) -> list[bytes]:
        return sorted((row for batch in self.batches for row in batch), key=int)

    def stop(self) -> None:
        if self.query is not None:
            self.query.stop()

    def _keep(self, frame: DataFrame, batch_id: int) -> None:
        if self.fails:
            raise RuntimeError("on purpose")
        self.batches.append([bytes(row.value) for row in frame.select("value").collect()])


Follow = Callable[..., Follower]


@pytest.fixture
def follow(spark: SparkSession, broker: Broker, barnabas_topic: str, tmp_path: Path) -> Iterator[Follow]:
    made: list[Follower] = []

    def follower(bootstrap: str = broker.bootstrap_servers) -> Follower:
        made.append(Follower(spark, bootstrap, barnabas_topic, tmp_path / f"checkpoint-{len(made)}"))
        return made[-1]

    yield follower
    for one in made:
        one.stop()


@pytest.fixture
def put(broker: Broker, barnabas_topic: str) -> Callable[..., None]:
    broker.create_topic(barnabas_topic)
    return lambda first, count, partition=0: write(
        broker.bootstrap_servers, barnabas_topic, numbered(first, count), partition=partition
    )


Put = Callable[..., None]


def committed(broker: Broker, group: str, topic: str, partition: int = 0) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    try:
        return int(consumer.committed([Place(topic, partition)], 30)[0].offset)
    finally:
        consumer.close()


def test_a_first_batch_that_fails_and_partitions_that_are_added(
    follow: Follow, put: Put, broker: Broker, barnabas_topic: str
) -> None:
    put(0, 5)
    options = {"startingOffsets": "latest", "kafka.group.id": barnabas_topic}
    query = follow()
    query.fails = True
    query.start(**options)
    with pytest.raises(StreamingQueryException, match="on purpose"):
        query.finish()
    assert committed(broker, barnabas_topic, barnabas_topic) == 5  # before anything was read
    put(5, 4)
    query.fails = False
    query.start(**options)
    assert query.read() == numbered(5, 4)
    query.fails = True
    put(9, 3)
    with pytest.raises(StreamingQueryException, match="on purpose"):
        query.finish()
    put(12, 1)
    query.fails = False
    query.start(**options)
    assert query.read() == numbered(5, 8)
    assert query.batches == [[], numbered(5, 4), numbered(9, 3), numbered(12, 1)]
    assert committed(broker, barnabas_topic, barnabas_topic) >= 12  # Spark tells the source one batch late
    add_partitions(broker.bootstrap_servers, barnabas_topic, 3)
    put(13, 3, 2)
    put(16, 1)
    assert query.read() == numbered(5, 12)
    query.stop()
    put(17, 2, 1)
    query.start(**options)
    assert query.read() == numbered(5, 14)


def test_available_now_with_limits(follow: Follow, put: Put) -> None:
    put(0, 25)
    query = follow()
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "10", "minOffsetsPerTrigger": "10"}
    query.start(trigger=NOW, **options)
    query.finish()
    assert [len(batch) for batch in query.batches] == [10, 10, 5]
    put(25, 5)
    query.start(trigger=NOW, **options)
    query.finish()
    assert query.rows == numbered(0, 30)
    assert query.query is not None
    source = query.query.lastProgress["sources"][0]
    assert '"$from"' not in source["endOffset"]
    put(30, 25)
    query.start(trigger={"once": True}, **options)
    query.finish()
    assert query.batches[-1] == numbered(30, 25)  # one batch, whatever the limits


def test_records_that_are_gone_and_a_topic_that_was_made_again(
    follow: Follow, put: Put, broker: Broker, barnabas_topic: str
) -> None:
    put(0, 5)
    strict, lenient = follow(), follow()
    for query in strict, lenient:
        query.start(trigger=NOW, startingOffsets="earliest")
        query.finish()
        assert query.rows == numbered(0, 5)
    put(5, 10)
    delete_records(broker.bootstrap_servers, barnabas_topic, 0, 8)
    strict.start(trigger=NOW)
    with pytest.raises(UserError, match="Up to 3 records were gone"), readable_errors():
        strict.finish()
    lenient.start(trigger=NOW, failOnDataLoss="false")
    lenient.finish()
    assert lenient.rows == [*numbered(0, 5), *numbered(8, 7)]
    remake_topic(broker, barnabas_topic)
    put(100, 30)
    lenient.start(trigger=NOW)
    with pytest.raises(UserError, match="deleted and created again"), readable_errors():
        lenient.finish()
    lenient.start(trigger=NOW, failOnDataLoss="false")
    lenient.finish()
    assert lenient.rows == [*numbered(0, 5), *numbered(8, 7), *numbered(100, 30)]


def test_the_broker_restarts_under_a_query(follow: Follow, barnabas_topic: str) -> None:
    with Broker() as broker:
        broker.create_topic(barnabas_topic)
        write(broker.bootstrap_servers, barnabas_topic, numbered(0, 5))
        query = follow(broker.bootstrap_servers)
        query.start(startingOffsets="earliest")
        assert query.read() == numbered(0, 5)
        for first in (5, 10):
            broker.restart()
            write(broker.bootstrap_servers, barnabas_topic, numbered(first, 5))
        assert query.read() == numbered(0, 15)
        query.stop()


def test_history_of_uneven_partitions_and_a_watermark(
    spark: SparkSession, broker: Broker, barnabas_topic: str, tmp_path: Path
) -> None:
    """Spark silently drops rows behind the watermark: partitions must be read in step with the log's time."""
    broker.create_topic(barnabas_topic, partitions=2)
    begin_ms = 1000 * (int(time.time()) - 3600)
    for number in range(100):  # one is steady for twenty minutes, the other has nearly all in its first
        for partition, second in (0, number * 12), (1, number / 2 if number < 95 else number * 10):
            at_ms = begin_ms + int(1000 * second)
            write(broker.bootstrap_servers, barnabas_topic, [b"x"], partition=partition, timestamp=at_ms)

    def dropped(name: str, **options: str) -> int:
        query = (
            spark.readStream.format("barnabas")
            .options(**{"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": barnabas_topic})
            .options(startingOffsets="earliest", maxOffsetsPerTrigger="50", **options)
            .load()
            .withWatermark("timestamp", "30 seconds")
            .groupBy(window("timestamp", "1 minute"))
            .count()
            .writeStream.format("noop")
            .option("checkpointLocation", str(tmp_path / name))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        progress = query.recentProgress
        assert sum(each["numInputRows"] for each in progress) == 200
        return sum(each["stateOperators"][0]["numRowsDroppedByWatermark"] for each in progress)

    assert dropped("by-share") > 0
    assert dropped("by-time", maxTimePerTrigger="3650d") == 0
