"""Batch reads with Spark itself: exact rows, correct filters, clear errors."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, Row, SparkSession
from source_world import TIMEOUT_S, now_ms

from barnabas.spark.errors import UserError
from barnabas.spark.readable import readable_errors
from barnabas.testing import Broker

pytestmark = pytest.mark.spark

TOPIC = "shop.orders"
COUNT = 60
FIRST_MS = now_ms() - COUNT * 1000

Load = Callable[..., DataFrame]


def record(number: int) -> dict[str, Any]:
    """Every kind of record: without key, without value, without headers, with a header without value."""
    return {
        "key": None if number % 3 == 0 else b"key %d" % (number % 5),
        "value": None if number % 7 == 0 else b"value %d" % number,
        "partition": number % 3,
        "timestamp": FIRST_MS + number * 1000,
        "headers": [("kind", b"x"), ("kind", None), ("\u00e9", b"")] if number % 2 else None,
    }


@pytest.fixture(scope="module")
def shop(broker: Broker) -> Broker:
    broker.create_topic(TOPIC, partitions=3)
    broker.create_topic("shop.empty", partitions=2)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(COUNT):
        producer.produce(TOPIC, **record(number))
    assert producer.flush(TIMEOUT_S) == 0
    return broker


@pytest.fixture
def load(spark: SparkSession, shop: Broker) -> Load:
    def loaded(session: SparkSession = spark, schema: str | None = None, **options: str) -> DataFrame:
        reader = session.read.format("barnabas").option("kafka.bootstrap.servers", shop.bootstrap_servers)
        if not options.keys() & {"subscribe", "assign", "subscribePattern"}:
            options["subscribe"] = TOPIC
        for name, value in options.items():
            reader = reader.option(name, value)
        return (reader.schema(schema) if schema else reader).load()

    return loaded


def expected_rows() -> list[Row]:
    rows = []
    for number in range(COUNT):
        sent = record(number)
        headers = sent["headers"]
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=sent["timestamp"])
        rows.append(
            Row(
                key=sent["key"],
                value=sent["value"],
                topic=TOPIC,
                partition=number % 3,
                offset=number // 3,
                timestamp=moment.astimezone().replace(tzinfo=None),
                timestampType=0,
                headers=headers and [Row(key=key, value=value) for key, value in headers],
            )
        )
    return rows


def places(frame: DataFrame) -> set[tuple[int, int]]:
    return {(row.partition, row.offset) for row in frame.select("partition", "offset").collect()}


def everywhere(first: int, end: int) -> set[tuple[int, int]]:
    return {(partition, offset) for partition in range(3) for offset in range(first, end)}


def test_every_column_of_every_record(load: Load) -> None:
    frame = load(includeHeaders="true", subscribePattern="^shop")
    assert frame.schema.simpleString().endswith("timestampType:int,headers:array<struct<key:string,value:binary>>>")
    rows = sorted(frame.collect(), key=lambda row: (row.offset, row.partition))
    assert rows == expected_rows()


def test_ranges_and_tasks(load: Load) -> None:
    offsets = {"startingOffsets": json.dumps({TOPIC: {"0": 3, "1": -2, "2": 19}})}
    ends = {"endingOffsets": json.dumps({TOPIC: {"0": 5, "1": 2, "2": -1}})}
    frame = load(**offsets, **ends, minPartitions="6")
    assert places(frame) == {(0, 3), (0, 4), (1, 0), (1, 1), (2, 19)}
    assert frame.rdd.getNumPartitions() == 5  # one for each record: that is as far as they can be split
    times = load(startingTimestamp=str(FIRST_MS + 12_000), endingTimestamp=str(FIRST_MS + 30_000))
    assert places(times) == everywhere(4, 10)
    assert times.rdd.getNumPartitions() == 1  # small ranges share a task
    one_each = load(assign=json.dumps({TOPIC: [2]}), maxRecordsPerPartition="5")
    assert places(one_each) == {(2, offset) for offset in range(20)}
    assert one_each.rdd.getNumPartitions() == 4
    assert load(subscribe="shop.empty").collect() == []


def test_chosen_columns(load: Load) -> None:
    assert load(columns="offset,topic").filter("offset = 7").distinct().collect() == [Row(offset=7, topic=TOPIC)]
    with_schema = load(schema="value binary, partition int").filter("partition = 1").count()
    assert with_schema == COUNT // 3


def test_filters_give_the_same_rows_pushed_or_not(spark: SparkSession, load: Load) -> None:
    moment = f"timestamp_millis({FIRST_MS + 20_000})"
    condition = (
        f"partition <> 1 and offset between 3 and 12 and timestamp >= {moment} and topic like 'shop%' "
        "and value is not null"
    )
    wanted = {
        (row.partition, row.offset)
        for number, row in enumerate(expected_rows())
        if row.partition != 1 and 3 <= row.offset <= 12 and number >= 20 and row.value is not None
    }
    assert places(load(pushDownPredicate="true").filter(condition)) == wanted
    assert places(load().filter(condition)) == wanted
    without = spark.newSession()
    without.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    assert places(load(without, pushDownPredicate="true").filter(condition)) == wanted


def test_one_frame_serves_queries_with_different_filters(load: Load) -> None:
    """Spark keeps one plan per load(); with pushed filters, one query would read the ranges of another."""
    frame = load()
    assert frame.filter("partition = 0").count() == COUNT // 3
    assert frame.count() == COUNT
    assert frame.filter("partition = 1").union(frame.filter("partition = 2")).count() == 2 * COUNT // 3


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"startingOffset": "earliest"}, "There is no option startingoffset.", "did you mean startingOffsets?"),
        ({"subscribe": "shop.order"}, "There is no topic shop.order on 127.0.0.1", f"did you mean {TOPIC}?"),
        ({"schema": "value string"}, "value is binary, but the schema says string", "CAST(value AS STRING)"),
        ({"kafka.bootstrap.servers": "localhost:many"}, "kafka.bootstrap.servers", "localhost:9092"),
    ],
)
def test_mistakes_are_told_without_a_trace(load: Load, options: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(UserError) as refused, readable_errors():
        load(**options, **{"fetchOffset.retryIntervalMs": "0"}).collect()
    assert message in refused.value.message
    assert hint in refused.value.hint


def test_what_spark_imports_to_find_the_source_is_light() -> None:
    """It is imported in a new process at each look-up, and in every task."""
    program = (
        "import sys, pyspark.sql.datasource; before = set(sys.modules); import pyspark_barnabas;"
        "new = set(sys.modules) - before; assert pyspark_barnabas.DefaultSource.name() == 'barnabas';"
        "print([name for name in new if not name.startswith(('barnabas', 'pyspark_barnabas'))], len(new))"
    )
    shown = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    names, count = shown.rsplit(" ", 1)
    assert (names, int(count) < 8) == ("[]", True)
