"""Streams: rows a second over a whole topic (AvailableNow), the time from start to first trigger, and the time of a
trigger with few rows."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from statistics import median
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

from bench.admin import make_topic
from bench.results import Better, Measure
from bench.spark.reads import CODECS, STREAM_NAME, UNIT, VALUE_SIZES, described, filled_topic
from bench.spark.stage import OURS, THEIRS, Benchmark, SparkStage, Turn
from bench.spark.topics import PARTITIONS

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_NOT_LESS: Final = 1.0
_START: Final = Measure(STREAM_NAME, "from start to first trigger", "ms", Better.LESS)
_LATENCY: Final = Measure(STREAM_NAME, "trigger with few rows, p50", "ms", Better.LESS, 1.6)
_TRIGGERS_PER_STREAM: Final = 4
_RECORDS_PER_S: Final = 500
_TIMEOUT_S: Final = 300.0


def run(stage: SparkStage) -> None:
    for value_size in VALUE_SIZES:
        for codec in CODECS:
            topic = filled_topic(stage, value_size, codec)
            what = f"AvailableNow to noop, {described(value_size, codec)}"
            measure = Measure(STREAM_NAME, what, UNIT, Better.MORE, _NOT_LESS)
            count = stage.sizes.records[value_size]
            stage.alternate([Turn(measure, who, partial(_drain, stage, who, topic, count)) for who in (OURS, THEIRS)])
    make_topic(stage.server.port, "steady", PARTITIONS)
    with _steady_records(stage.servers, "steady"):
        stage.alternate([Turn(_LATENCY, who, partial(_trigger_ms, stage, who, "steady")) for who in (OURS, THEIRS)])


def _drain(stage: SparkStage, who: str, topic: str, count: int) -> float:
    """In several triggers, like a stream that catches up. Its start is measured separately."""
    options = {
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(count // _TRIGGERS_PER_STREAM),
    }
    started = datetime.now(UTC)
    with _query(stage, who, options, {"availableNow": True}) as query:
        if not query.awaitTermination(int(_TIMEOUT_S)):
            raise TimeoutError(f"a stream did not read {count} records in {_TIMEOUT_S:.0f} s")
        triggers = _progress(query)
    found = sum(trigger["numInputRows"] for trigger in triggers)
    if found != count:
        raise RuntimeError(f"a stream returned {found} rows, but {count} were written")
    begun = datetime.fromisoformat(triggers[0]["timestamp"]) - started
    stage.add(_START, who, begun.total_seconds() * 1e3)
    return float(count / sum(trigger["durationMs"]["triggerExecution"] for trigger in triggers))


def _trigger_ms(stage: SparkStage, who: str, topic: str) -> float:
    """Triggers without a pause. The first ones compile and connect, and do not count."""
    with _query(
        stage, who, {"subscribe": topic, "startingOffsets": "latest"}, {"processingTime": "0 seconds"}
    ) as query:
        deadline = time.monotonic() + _TIMEOUT_S
        wanted = stage.sizes.triggers + 3
        while len(with_rows := [one for one in _progress(query) if one["numInputRows"] > 0]) < wanted:
            if time.monotonic() > deadline or not query.isActive:
                raise TimeoutError(f"{len(with_rows)} of {wanted} triggers in {_TIMEOUT_S:.0f} s")
            time.sleep(0.2)
    return float(median(one["durationMs"]["triggerExecution"] for one in with_rows[3:]))


@contextmanager
def _query(stage: SparkStage, who: str, options: dict[str, str], trigger: dict[str, Any]) -> "Iterator[StreamingQuery]":
    stage.spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1000")
    reader = stage.spark.readStream.format(who).options(**{"kafka.bootstrap.servers": stage.servers, **options})
    with stage.scratch() as place:
        query = (
            reader.load()
            .writeStream.format("noop")
            .option("checkpointLocation", str(place / "checkpoint"))
            .trigger(**trigger)
            .start()
        )
        try:
            yield query
        finally:
            query.stop()


def _progress(query: "StreamingQuery") -> list[Any]:
    return list(query.recentProgress)


@contextmanager
def _steady_records(servers: str, topic: str) -> Iterator[None]:
    """A producer that sends some records every few milliseconds."""
    from confluent_kafka import Producer

    producer: Any = Producer({"bootstrap.servers": servers, "linger.ms": 2, "log_level": 2})
    done = Event()

    def send() -> None:
        period_s = 0.01
        while not done.wait(period_s):
            for _ in range(int(_RECORDS_PER_S * period_s)):
                producer.produce(topic, b"x" * 100)
            producer.poll(0)

    thread = Thread(target=send, name="steady-records")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        producer.flush(10)


BENCHMARK = Benchmark(STREAM_NAME, "rows a second of a stream, and how long a trigger takes", run)
