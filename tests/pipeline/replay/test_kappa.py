"""Changed logic: a new version replays the history beside the old one, is compared, and readers switch to it."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from followed_pages import Followed
from pyspark.sql import DataFrame, SparkSession

from barnabas.client.cluster import Cluster
from barnabas.client.properties import client_settings
from barnabas.pipeline.dead_letters.sending import replay as send_again
from barnabas.pipeline.project import load
from barnabas.pipeline.replay.comparing import DIFFERENT, ONLY_NEW, ONLY_OLD, Comparison, compare, compare_frames
from barnabas.pipeline.replay.listing import versions
from barnabas.pipeline.replay.running import replay
from barnabas.pipeline.replay.switching import switch
from barnabas.pipeline.run import run
from barnabas.spark import metadata_topic, readable_errors, table
from barnabas.spark.errors import UserError
from barnabas.testing import Broker

pytestmark = pytest.mark.spark

PROJECT = """
name: %(topic)s
log: {bootstrap: "%(bootstrap)s"}
sources:
  readings:
    topic: %(topic)s
    format: json
    schema: "id INT, device STRING, at TIMESTAMP, value INT"
    watermark: {column: at, delay: 10 seconds}
    expect:
      plausible: {rule: "value < 1000", otherwise: dead-letter}
flows:
  sums:
    sql: |
      SELECT device, window.start AS minute, sum(value) AS total, count(*) AS readings
      FROM readings GROUP BY device, window(at, '1 minute')
    output: {topic: %(topic)s.sums, key: device, mode: update}
  high:
    sql: SELECT id, device, value FROM readings WHERE value > %(high)s
    output: {table: high}
"""

BEGIN_S = int(time.time()) // 60 * 60 - 3600


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def put(broker: Broker, topic: str, readings: list[tuple[int, str, int, int]]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number, device, second, value in readings:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BEGIN_S + second))
        text = json.dumps({"id": number, "device": device, "at": at, "value": value})
        producer.produce(topic, text, partition=number % 2, timestamp=1000 * (BEGIN_S + second))
    assert producer.flush(30) == 0
    del producer


def quiet(_: str) -> None:
    """No output."""


def test_replay_compare_switch_and_back(
    spark: SparkSession, broker: Broker, barnabas_topic: str, tmp_path: Path, followed: Followed
) -> None:
    topic = barnabas_topic
    (readers,) = (block.text for block in followed("docs/kappa.md"))
    names = {"topic": topic, "bootstrap": broker.bootstrap_servers}
    broker.create_topic(topic, partitions=2)
    file = tmp_path / "pipeline.yaml"
    file.write_text(PROJECT % {**names, "high": 5})
    put(broker, topic, [(n, "ab"[n % 3 == 0], n * 10, n) for n in range(20)])
    put(broker, topic, [(100, "a", 180, 5000)])  # breaks the rule
    run(load(tmp_path), once=True, say=quiet, spark=spark)

    # The rule was wrong, the limit changes. A letter goes back for v1 alone, which now takes it.
    file.write_text((PROJECT % {**names, "high": 8}).replace("value < 1000", "value < 10000"))
    changed = load(tmp_path)
    assert send_again(changed, origin=None, version="v1", dry_run=False).sent == {"readings": 1}
    run(changed, once=True, accept_changes=True, flows=["sums"], say=quiet, spark=spark)
    said: list[str] = []
    replay(changed, version="v2", once=True, say=said.append, spark=spark)
    assert "sums: v2 has caught up with v1" in said
    assert "high: v2 has caught up with v1" in said

    sums, high = compare(changed, old="v1", new="v2", spark=spark)
    assert (sums.flow, sums.key) == ("sums", ("device", "minute"))
    assert sums.differences == 0, "the letter that was sent again is counted once in either version"
    assert sums.same == 8
    assert high.key == ()
    assert (high.same, high.only_old, high.only_new) == (11, 3, 1)
    assert sorted(int(each.key["value"] or 0) for each in high.examples) == [6, 7, 8, 5000]
    assert {each.kind for each in high.examples} == {ONLY_OLD, ONLY_NEW}

    def seen() -> tuple[str, int]:
        """By the readers on the page."""
        names: dict[str, Any] = {"spark": spark}
        exec(for_this_project(readers, broker.bootstrap_servers, topic), names)
        return names["rows"].select("topic").distinct().collect()[0][0], names["averages"].count()

    assert seen() == (f"{topic}.sums", 14)
    follow(spark, broker, topic, tmp_path)
    switch(changed, version="v2", say=quiet)
    with pytest.raises(UserError, match=f"its flow sums is now the topic {topic}.sums.v2"), readable_errors():
        follow(spark, broker, topic, tmp_path)
    assert seen() == (f"{topic}.sums.v2", 12)
    assert {each.version for each in versions(changed) if each.is_current} == {"v2"}
    with pytest.raises(UserError, match=r"flow `high` of v1 is \d records behind v2"):
        switch(changed, version="v1", say=quiet)
    switch(changed, version="v1", anyway=True, say=quiet)
    assert seen() == (f"{topic}.sums", 14)
    with Cluster(client_settings({"bootstrap.servers": broker.bootstrap_servers})) as cluster:
        assert any(key == f"pipeline\t{topic}" for key in metadata_topic.read(cluster))
    with pytest.raises(UserError, match=r"the topic .*sums, not a table"):
        table(spark, pipeline=topic, flow="sums", bootstrap_servers=broker.bootstrap_servers)


def for_this_project(text: str, bootstrap_servers: str, pipeline: str) -> str:
    """The Python of the page, which has the demo's names."""
    replaced = {
        "localhost:9092": bootstrap_servers,
        '"telemetry"': f'"{pipeline}"',
        '"averages"': '"sums"',
        '"history"': '"high"',
    }
    for name, ours in replaced.items():
        assert name in text
        text = text.replace(name, ours)
    return text


def follow(spark: SparkSession, broker: Broker, topic: str, folder: Path) -> None:
    """A stream of what readers see, up to now."""
    query = (
        spark.readStream.format("barnabas")
        .options(**{"kafka.bootstrap.servers": broker.bootstrap_servers, "pipeline": topic, "flow": "sums"})
        .option("startingOffsets", "earliest")
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / "follower"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)


def rows(spark: SparkSession, *given: dict[str, str | None]) -> DataFrame:
    numbered = [(row, number) for number, row in enumerate(given)]
    return spark.createDataFrame(numbered, "row MAP<STRING, STRING>, place INT")


def counts(found: Comparison) -> tuple[int, int, int, int]:
    return found.same, found.different, found.only_old, found.only_new


def test_rows_are_told_apart_by_key_or_as_wholes(spark: SparkSession) -> None:
    a1: dict[str, str | None] = {"k": "a", "v": "1"}
    a2: dict[str, str | None] = {"v": "2", "k": "a"}
    b: dict[str, str | None] = {"k": "b", "v": None}
    none: dict[str, str | None] = {"k": None, "v": "0"}
    old, new = rows(spark, a1, a2, b, none), rows(spark, a2, a1, none, {"k": "c", "v": "3"})
    found = compare_frames("f", old, new, ("k",), is_last_row_of_key=True, limit=9)
    assert counts(found) == (1, 1, 1, 1)
    by_kind = {each.kind: each for each in found.examples}
    assert (by_kind[DIFFERENT].key, by_kind[DIFFERENT].old, by_kind[DIFFERENT].new) == (
        {"k": "a"},
        {"v": "2"},
        {"v": "1"},
    )
    assert (by_kind[ONLY_OLD].key, by_kind[ONLY_OLD].old) == ({"k": "b"}, {"v": None})
    assert (by_kind[ONLY_NEW].key, by_kind[ONLY_NEW].new) == ({"k": "c"}, {"v": "3"})
    found = compare_frames("f", rows(spark, a1, a1, b), rows(spark, a1, b, b, b), (), is_last_row_of_key=False, limit=1)
    assert counts(found) == (2, 0, 1, 2)
    assert len(found.examples) == 1
