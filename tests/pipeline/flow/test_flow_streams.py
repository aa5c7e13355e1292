"""State of a stream: duplicates, windows, counts, and when it expires. One query each, a batch for each file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from flow_world import READINGS, at, batch_of, write_batches

from barnabas.pipeline.flow import metrics
from barnabas.pipeline.flow.plan import plan
from barnabas.pipeline.project import load
from barnabas.spark.arrow.schema import COLUMN_TYPES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

PROJECT = (
    READINGS
    + """\
    late: {column: at, after: 30 seconds}
    watermark: {column: at, delay: 1 minute}
    deduplicate: {by: [id], within: 10 minutes}
    expect:
      plausible: {rule: "value < 100", otherwise: dead-letter}
      wanted: {rule: "value <> 13", otherwise: drop}
      positive: value > 0
flows:
  counts:
    sql: SELECT window.start AS minute, count(*) AS n FROM readings GROUP BY window(at, '1 minute')
    output: {topic: counts}
"""
)


def row(id_: str, minutes: float, value: float = 1.0) -> str:
    return json.dumps({"id": id_, "device": "d", "at": at(minutes), "value": value})


def test_duplicates_are_known_for_as_long_as_said_and_windows_close_by_the_watermark(
    spark: "SparkSession", tmp_path: Path
) -> None:
    (tmp_path / "pipeline.yaml").write_text(PROJECT)
    project = load(tmp_path)
    batches = [
        batch_of([row("a", 0), row("a", 0)], minutes=0),
        batch_of([row("b", 5)], first_offset=2, minutes=5),
        # The watermark is at 12:04. Had the state of `a` gone with it, this one would be new.
        batch_of([row("a", 6), row("x", 6, 500), row("y", 6, 13), row("z", 6, -1), "no"], first_offset=3, minutes=6),
        batch_of([row("c", 30), row("late", 29)], first_offset=8, minutes=30),
        # The watermark is at 12:29, later than 12:00 and ten minutes: at the end of this batch `a` is forgotten.
        batch_of([row("d", 31)], first_offset=10, minutes=31),
        batch_of([row("a", 32)], first_offset=11, minutes=32),
        batch_of([row("e", 40)], first_offset=12, minutes=40),
        batch_of([row("f", 41)], first_offset=13, minutes=41),
    ]
    write_batches(tmp_path / "log", batches)

    def read(_: object) -> "DataFrame":
        schema = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
        schema += "timestampType INT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", "1")
        return reader.parquet(str(tmp_path / "log")).select(*COLUMN_TYPES)

    made = plan(project, spark, read, streaming=True)

    rows, progress = _run(made.sources["readings"].select("id", "at"), tmp_path / "rows", "update")
    assert sorted((each["id"], each["at"].minute) for each in rows) == [
        ("a", 0),
        ("a", 32),
        ("b", 5),
        ("c", 30),
        ("d", 31),
        ("e", 40),
        ("f", 41),
        ("z", 6),
    ]
    counts = [metrics.counts_of(each.observedMetrics["readings"].asDict()) for each in progress]
    total = sum(counts, metrics.Counts())
    assert total == metrics.Counts(
        rows=14, misfits=1, dead=2, dropped=1, late=1, rules={"plausible": 1, "wanted": 1, "positive": 1}
    )

    windows, _ = _run(made.flows["counts"], tmp_path / "windows", "append")
    # The last batch has the watermark 12:39: what ends behind that is open.
    assert sorted((each["minute"].minute, each["n"]) for each in windows) == [
        (0, 1),
        (5, 1),
        (6, 1),
        (30, 1),
        (31, 1),
        (32, 1),
    ]


def _run(frame: "DataFrame", checkpoint: Path, mode: str) -> tuple[list[Any], list[Any]]:
    found: list[Any] = []

    def collect(batch: "DataFrame", _: int) -> None:
        found.extend(batch.collect())

    query = (
        frame.writeStream.foreachBatch(collect)
        .outputMode(mode)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert query.exception() is None
    return found, query.recentProgress
