"""Batch reads: rows a second from a topic to nowhere, to a count, to a sum over the values, and to Parquet files.

*All columns* is the same program with only the format changed. With *pruned* columns an option names the columns that
the query needs; the connector's query selects the same.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from bench.results import Better, Measure
from bench.spark.stage import OURS, THEIRS, Benchmark, SparkStage, Turn
from bench.spark.topics import make_filled_topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME: Final = "reads"
STREAM_NAME: Final = "streams"
VALUE_SIZES: Final = (100, 1024)
CODECS: Final = ("none", "zstd")
UNIT: Final = "k rows/s"

_READ_TARGETS: Final = {100: 2.0, 1024: 2.0}
_PARQUET_TARGETS: Final = {100: 1.5, 1024: 1.2}

Sink = Callable[[SparkStage, "DataFrame", int, int], None]


def _noop(stage: SparkStage, frame: "DataFrame", count: int, value_size: int) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _count(stage: SparkStage, frame: "DataFrame", count: int, value_size: int) -> None:
    _expect(frame.count(), count)


def _sum(stage: SparkStage, frame: "DataFrame", count: int, value_size: int) -> None:
    (row,) = frame.selectExpr("sum(length(value))").collect()
    _expect(row[0], count * value_size)


def _parquet(stage: SparkStage, frame: "DataFrame", count: int, value_size: int) -> None:
    with stage.scratch() as place:
        frame.write.parquet(str(place / "files"))


def _expect(found: int, wanted: int) -> None:
    if found != wanted:
        raise RuntimeError(f"a read returned {found} records, but {wanted} were written")


SINKS: Final[Mapping[str, tuple[Sink, str, Mapping[int, float]]]] = {
    # name: (query, the column it needs, target)
    "noop": (_noop, "value", _READ_TARGETS),
    "count": (_count, "offset", _READ_TARGETS),
    "sum(length(value))": (_sum, "value", _READ_TARGETS),
    "Parquet": (_parquet, "value", _PARQUET_TARGETS),
}


def run(stage: SparkStage) -> None:
    for value_size in VALUE_SIZES:
        for codec in CODECS:
            topic = filled_topic(stage, value_size, codec)
            for name in SINKS:
                stage.alternate(_turns(stage, topic, value_size, codec, name))


def filled_topic(stage: SparkStage, value_size: int, codec: str) -> str:
    """Created by the first benchmark that needs it."""
    topic = f"read-{value_size}-{codec}"
    if topic not in stage.filled:
        make_filled_topic(stage.server.port, topic, stage.sizes.records[value_size], value_size, codec)
        stage.filled.add(topic)
    return topic


def described(value_size: int, codec: str) -> str:
    size = f"{value_size // 1024} KB" if value_size >= 1024 else f"{value_size} B"
    return size if codec == "none" else f"{size} {codec}"


def _turns(stage: SparkStage, topic: str, value_size: int, codec: str, name: str) -> list[Turn]:
    sink, column, targets = SINKS[name]
    turns = []
    for columns in (None, column) if codec == "none" else (None,):
        what = f"{name}, {described(value_size, codec)}" + (f", only {column}" if columns else "")
        measure = Measure(NAME, what, UNIT, Better.MORE, targets[value_size])
        once = partial(_once, stage, topic, value_size, sink, columns)
        turns += [Turn(measure, who, partial(once, who)) for who in (OURS, THEIRS)]
    return turns


def _once(stage: SparkStage, topic: str, value_size: int, sink: Sink, column: str | None, who: str) -> float:
    count = stage.sizes.records[value_size]
    started = time.perf_counter()
    reader = stage.spark.read.format(who).options(**{"kafka.bootstrap.servers": stage.servers, "subscribe": topic})
    if column is not None and who == OURS:
        reader = reader.option("columns", column)
    frame = reader.load()
    sink(stage, frame if column is None else frame.select(column), count, value_size)
    return count / 1e3 / (time.perf_counter() - started)


BENCHMARK = Benchmark(NAME, "rows a second from a topic to four ends", run)
