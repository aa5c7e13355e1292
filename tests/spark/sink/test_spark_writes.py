"""Writes with Spark itself: batch and stream, every column, and common mistakes."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from barnabas.spark.errors import UserError
from barnabas.spark.readable import readable_errors
from barnabas.testing import Broker

pytestmark = pytest.mark.spark

AT = datetime(2024, 5, 6, 7, 8, 9, 123_000, UTC)
HEADERS = "array<struct<key: string, value: binary>>"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def topic(broker: Broker) -> str:
    name = f"out-{uuid.uuid4().hex[:8]}"
    # Some records are stamped years ago: they would expire when the broker first checks, 30 s after its start.
    broker.create_topic(name, partitions=3, config={"retention.ms": "-1"})
    return name


def save(rows: DataFrame, broker: Broker, *, mode: str = "append", **options: str) -> None:
    with readable_errors():
        writer = rows.write.format("barnabas").option("kafka.bootstrap.servers", broker.bootstrap_servers).mode(mode)
        writer.options(**options).save()


def rows_of(spark: SparkSession, broker: Broker, topic: str) -> DataFrame:
    return (
        spark.read.format("barnabas")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("subscribe", topic)
        .option("includeHeaders", "true")
        .load()
    )


def test_every_column_comes_back(spark: SparkSession, broker: Broker, topic: str) -> None:
    schema = (
        f"key string, value string, topic string, partition int, headers {HEADERS}, timestamp timestamp, extra double"
    )
    given = [
        ("a", "1", topic, 2, [("h", bytearray(b"x")), ("h", None)], AT, 0.5),
        (None, None, topic, 1, None, AT, 0.5),
        ("", "", topic, 2, [], AT, None),
        ("\u03c0", "long " * 1000, topic, None, None, None, None),
    ]
    save(spark.createDataFrame(given, schema).repartition(2), broker, **{"kafka.compression.type": "zstd"})
    found = rows_of(spark, broker, topic).selectExpr(
        "CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value", "partition", "headers", "timestamp"
    )
    by_key = {row.key: row for row in found.collect()}
    assert len(by_key) == 4
    assert (by_key["a"].value, by_key["a"].partition) == ("1", 2)
    assert [(one.key, one.value) for one in by_key["a"].headers] == [("h", b"x"), ("h", None)]
    assert by_key["a"].timestamp.astimezone(UTC) == AT
    assert (by_key[None].value, by_key[None].partition, by_key[None].headers) == (None, 1, None)
    assert (by_key[""].value, by_key[""].partition, by_key[""].headers) == ("", 2, None)
    assert by_key["\u03c0"].value == "long " * 1000
    assert by_key["\u03c0"].timestamp.astimezone(UTC) > AT


def test_many_rows_from_several_tasks(spark: SparkSession, broker: Broker, topic: str) -> None:
    many = spark.range(0, 50_000, 1, 4).selectExpr(
        "CAST(id AS STRING) AS key", "repeat(CAST(id AS STRING), 5) AS value"
    )
    save(many, broker, topic=topic)
    found = rows_of(spark, broker, topic).selectExpr(
        "CAST(CAST(key AS STRING) AS BIGINT) AS id", "length(value) AS size"
    )
    count, distinct, total, size = found.agg(F.count("*"), F.countDistinct("id"), F.sum("id"), F.sum("size")).first()  # type: ignore[misc]
    assert (count, distinct, total) == (50_000, 50_000, 50_000 * 49_999 // 2)
    assert size == sum(5 * len(str(one)) for one in range(50_000))


@pytest.mark.parametrize(
    ("expressions", "options", "said", "hint"),
    [
        (["id AS key"], {"topic": "t"}, "Required attribute 'value' not found", "to_json"),
        (["id AS value"], {"topic": "t"}, "value attribute unsupported type bigint", "cast it to string or binary"),
        (["'v' AS value"], {}, "topic option required when no 'topic' attribute is present", 'option("topic", "NAME")'),
        (["'v' AS value", "CAST(NULL AS STRING) AS topic"], {}, "contains a null topic", "fill the column"),
        (["'v' AS value"], {"topic": "t", "kafka.acks": "two"}, "kafka.acks cannot be used", "choose one of"),
        (["'v' AS value"], {"topic": "t", "partitoner": "random"}, "no option partitoner", "did you mean partitioner"),
        (["'v' AS value", "99 AS partition"], {"topic": "t"}, "no partition 99 in topic t", "choose one from 0 to"),
        (
            ["repeat('v', 3000) AS value"],
            {"topic": "t", "kafka.max.request.size": "2000"},
            "the value of the option kafka.max.request.size",
            "raise kafka.max.request.size",
        ),
    ],
)
def test_mistakes_are_told(
    spark: SparkSession, broker: Broker, expressions: list[str], options: dict[str, str], said: str, hint: str
) -> None:
    rows = spark.range(1).selectExpr(*expressions)
    with pytest.raises(UserError) as refused:
        save(rows, broker, **options)
    assert said in refused.value.message
    assert hint in refused.value.hint


@pytest.mark.parametrize("mode", ["overwrite", "ignore", "errorifexists"])
def test_a_log_can_only_be_appended_to(spark: SparkSession, broker: Broker, topic: str, mode: str) -> None:
    with pytest.raises(Exception, match=r"(?i)append"):
        save(spark.range(1).selectExpr("'v' AS value"), broker, mode=mode, topic=topic)
    assert rows_of(spark, broker, topic).count() == 0


def run_stream(rows: DataFrame, broker: Broker, checkpoint: Path, mode: str, **options: str) -> Any:
    writer = rows.writeStream.format("barnabas").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    writer = writer.options(**options).option("checkpointLocation", str(checkpoint))
    query = writer.outputMode(mode).trigger(availableNow=True).start()
    assert query.awaitTermination(100)
    assert query.exception() is None
    return query


def test_a_stream_from_topic_to_topic(spark: SparkSession, broker: Broker, topic: str, tmp_path: Path) -> None:
    source = f"{topic}-in"
    broker.create_topic(source, partitions=2)

    def produce(numbers: range) -> None:
        rows = spark.range(numbers.start, numbers.stop, 1, 1).selectExpr("CAST(id AS STRING) AS value")
        save(rows, broker, topic=source)

    read = spark.readStream.format("barnabas").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    stream = read.option("subscribe", source).option("startingOffsets", "earliest").load()
    doubled = stream.selectExpr("value AS key", "CAST(2 * CAST(CAST(value AS STRING) AS INT) AS STRING) AS value")
    produce(range(100))
    run_stream(doubled, broker, tmp_path / "append", "append", topic=topic)
    produce(range(100, 150))
    run_stream(doubled, broker, tmp_path / "append", "append", topic=topic)  # continues where it was
    found = rows_of(spark, broker, topic).selectExpr("CAST(value AS STRING) AS value").collect()
    assert sorted(int(row.value) for row in found) == list(range(0, 300, 2))


def test_counts_that_grow(spark: SparkSession, broker: Broker, topic: str, tmp_path: Path) -> None:
    source = f"{topic}-in"
    broker.create_topic(source)
    save(spark.range(6).selectExpr("CAST(id % 2 AS STRING) AS value"), broker, topic=source)
    read = spark.readStream.format("barnabas").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    stream = read.option("subscribe", source).option("startingOffsets", "earliest").load()
    counts = stream.groupBy("value").count().selectExpr("value AS key", "CAST(count AS STRING) AS value")
    with pytest.raises(UserError, match=r'no outputMode\("update"\)'), readable_errors():
        run_stream(counts, broker, tmp_path / "update", "update", topic=topic)
    run_stream(counts, broker, tmp_path / "complete", "complete", topic=topic)
    found = rows_of(spark, broker, topic).collect()
    assert sorted((bytes(row.key), bytes(row.value)) for row in found) == [(b"0", b"3"), (b"1", b"3")]
