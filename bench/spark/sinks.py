"""Sinks: rows a second from a generated DataFrame to a topic, acknowledged by all replicas."""

import time
from collections.abc import Mapping
from functools import partial
from typing import Final

from bench.admin import drop_topic, make_topic
from bench.results import Better, Measure
from bench.spark.reads import UNIT, VALUE_SIZES, described
from bench.spark.stage import OURS, THEIRS, Benchmark, SparkStage, Turn
from bench.spark.topics import PARTITIONS

NAME: Final = "sinks"
_TARGET: Final = 1.0
_TASKS: Final = 2

_HOW: Final[Mapping[str, Mapping[str, str]]] = {"at least once": {}, "exactly once": {"exactlyOnce": "true"}}


def run(stage: SparkStage) -> None:
    """The connector writes at least once, and is compared with both of ours."""
    for value_size in VALUE_SIZES:
        turns = []
        for how, options in _HOW.items():
            measure = Measure(NAME, f"{how}, {described(value_size, 'none')}", UNIT, Better.MORE, _TARGET)
            turns.append(Turn(measure, OURS, partial(_write, stage, OURS, value_size, options)))
            turns.append(Turn(measure, THEIRS, partial(_write, stage, THEIRS, value_size, {})))
        stage.alternate(turns)


def _write(stage: SparkStage, who: str, value_size: int, options: Mapping[str, str]) -> float:
    topic = f"sink-{time.monotonic_ns()}"
    count = stage.sizes.sink_bytes // value_size
    make_topic(stage.server.port, topic, PARTITIONS)
    frame = stage.spark.range(0, count, 1, _TASKS).selectExpr(
        "cast(concat('k', id) as binary) as key",
        f"cast(rpad(cast(id as string), {value_size}, 'v') as binary) as value",
    )
    started = time.perf_counter()
    writer = frame.write.format(who).options(**{"kafka.bootstrap.servers": stage.servers, "topic": topic, **options})
    writer.mode("append").save()
    elapsed_s = time.perf_counter() - started
    found = stage.spark.read.format(THEIRS).options(
        **{"kafka.bootstrap.servers": stage.servers, "subscribe": topic, "kafka.isolation.level": "read_committed"}
    )
    if (rows := found.load().count()) != count:
        raise RuntimeError(f"the topic has {rows} records, but {count} were written")
    drop_topic(stage.server.port, topic)
    return count / 1e3 / elapsed_s


BENCHMARK = Benchmark(NAME, "rows a second from a frame to a topic", run)
