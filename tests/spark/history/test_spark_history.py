"""History in Spark itself: the native scan, option("history"), and typed columns compared with from_json."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from barnabas.archive.run import Job, archive
from barnabas.client.properties import client_settings
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "b BOOLEAN, i INT, l BIGINT, d DOUBLE, s STRING, t TIMESTAMP, day DATE"
ODD: list[Any] = [
    {"b": True, "i": 1, "l": 1 << 40, "d": 0.1, "s": "ä", "t": "2026-01-02T03:04:05.25+01:00", "day": "2026-01-02"},
    {"b": "true", "i": "1", "l": 1.5, "d": "x", "s": 5, "t": "soon", "day": 3.5},
    {"i": 1 << 31, "l": 1 << 63, "d": 7, "s": None, "t": 12, "other": 1},
    {"d": "NaN", "s": {"a": [1, 2]}, "t": "2026-01-02T03:04:05Z"},
    {"d": "-Infinity", "s": True, "t": "2026-01-02T03:04:05", "b": 1},
    {},
]
VALUES = [json.dumps(value).encode() for value in ODD] + [b"{", b"no", b"", b'{"i": 4, "s": "late"}']


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def _write(broker: Broker, topic: str, partition: int, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, value, partition=partition, key=b"k", headers=[("h", b"v")])
    assert producer.flush(60) == 0


def test_history_and_tail_are_one_table(spark: "SparkSession", broker: Broker, tmp_path: Path) -> None:
    from barnabas.spark import UserError, history

    topic = "telemetry"
    servers = broker.bootstrap_servers
    broker.create_topic(topic, partitions=2)
    _write(broker, topic, 0, VALUES)
    _write(broker, topic, 1, VALUES[:3])
    archive(client_settings({"bootstrap.servers": servers}), Job([topic], tmp_path, SCHEMA))
    _write(broker, topic, 0, VALUES)
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.delete_records([Place(topic, 0, 4)]).values():
        future.result(60)

    whole = history(spark, topic=topic, path=tmp_path, bootstrap_servers=servers, includeHeaders=True).cache()
    ways = (
        spark.read.format("barnabas")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("history", str(tmp_path))
        .option("includeHeaders", "true")
        .load()
    )
    assert whole.schema.simpleString() == ways.schema.simpleString()
    assert [(row.partition, row.offset, row.value) for row in whole.orderBy("partition", "offset").collect()] == [
        *((0, offset, value) for offset, value in enumerate([*VALUES, *VALUES])),
        *((1, offset, value) for offset, value in enumerate(VALUES[:3])),
    ]
    assert whole.exceptAll(ways).count() == 0
    assert ways.exceptAll(whole).count() == 0

    typed = [part.split()[0] for part in SCHEMA.split(", ")]
    judged = whole.selectExpr("offset", "value", *typed, f"from_json(CAST(value AS STRING), '{SCHEMA}') AS judge")
    pairs = [
        (row.value, name, str(row[name]), str(row.judge[name] if row.judge else None))
        for row in judged.collect()
        for name in typed
    ]
    assert [pair for pair in pairs if pair[2] != pair[3]] == []
    assert whole.filter("decode_error IS NULL").count() == 9  # four of VALUES fit, and one of the first three

    plain = spark.read.parquet(f"{tmp_path}/{topic}")
    assert plain.count() == len(VALUES) + 3
    with pytest.raises(UserError, match="history\\(\\) reads a whole topic"):
        history(spark, topic=topic, path=tmp_path, bootstrap_servers=servers, startingOffsets="latest")
