"""A program for one version of Spark: source and sink, batch and stream, one case after the other, in one session.

    python spark_version_cases.py BOOTSTRAP_SERVERS FOLDER [connect]

With `connect` the session is one of Spark Connect. It prints a line of JSON for each case: its name, and a trace if it
failed. Where versions differ, a case says what to expect from which one.
"""

import json
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from spark_records import PATIENCE_SECONDS, consume

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BASE_MS: Final = 1_700_000_000_000
QUERY_SECONDS_MAX: Final = 120
ALL: Final = 40
"""Records of a topic at first: half in each of two partitions."""


class World:
    """A session, a broker, and a folder for checkpoints."""

    def __init__(self, spark: "SparkSession", servers: str, folder: Path, *, connect: bool) -> None:
        self.spark = spark
        self.connect = connect
        self.servers = servers
        self.folder = folder
        major, minor = spark.version.split(".")[:2]
        self.version = int(major), int(minor)

    def topic(self, name: str, count: int = ALL) -> str:
        admin: Any = AdminClient({"bootstrap.servers": self.servers})
        for future in admin.create_topics([NewTopic(name, 2, 1, config={"retention.ms": "-1"})]).values():
            future.result(PATIENCE_SECONDS)
        self.put(name, range(count))
        return name

    def put(self, topic: str, numbers: Sequence[int]) -> None:
        """Even numbers to partition 0, odd ones to 1; each a second younger than the one before."""
        producer: Any = Producer({"bootstrap.servers": self.servers})
        for number in numbers:
            text = str(number).encode()
            producer.produce(
                topic,
                text,
                key=b"k" + text,
                partition=number % 2,
                timestamp=BASE_MS + 1000 * number,
                headers=[("number", text)],
            )
        assert producer.flush(PATIENCE_SECONDS) == 0

    def read(self, topic: str, **options: str) -> "DataFrame":
        return self.spark.read.format("barnabas").options(**self._source(topic, options)).load()

    def stream(self, topic: str, **options: str) -> "DataFrame":
        given = {"startingOffsets": "earliest", **options}
        return self.spark.readStream.format("barnabas").options(**self._source(topic, given)).load()

    def sink(self, topic: str) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.servers, "topic": topic}

    def checkpoint(self, name: str) -> str:
        return str(self.folder / name)

    def kept(self, name: str) -> "Kept":
        return Kept(self.folder / f"{name}-batches")

    def values(self, topic: str, *, committed: bool = True) -> Counter[bytes | None]:
        return Counter(seen.value for seen in consume(self.servers, [topic], committed=committed))

    def _source(self, topic: str, options: Mapping[str, str]) -> dict[str, str]:
        return {
            "kafka.bootstrap.servers": self.servers,
            "subscribe": topic,
            "fetchOffset.retryIntervalMs": "10",
            **options,
        }


class Kept:
    """The batches that a stream has read; fails on request. In files: Spark Connect calls this in another process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir()

    def __call__(self, rows: "DataFrame", batch_id: int) -> None:
        found = sorted(int(row.value) for row in rows.select("value").collect())
        if (self._folder / "fail").exists():
            raise RuntimeError("on purpose")
        (self._folder / f"{batch_id:04}.json").write_text(json.dumps(found))

    def fail(self, fails: bool) -> None:
        (self._folder / "fail").touch() if fails else (self._folder / "fail").unlink()

    @property
    def batches(self) -> list[list[int]]:
        return [json.loads(file.read_text()) for file in sorted(self._folder.glob("*.json"))]

    @property
    def sizes(self) -> list[int]:
        return [len(batch) for batch in self.batches]

    @property
    def numbers(self) -> list[int]:
        return sorted(number for batch in self.batches for number in batch)


def start(frame: "DataFrame", keep: Kept, checkpoint: str, **trigger: Any) -> "StreamingQuery":
    writer = frame.writeStream.foreachBatch(keep).option("checkpointLocation", checkpoint)
    return (writer.trigger(**trigger) if trigger else writer).start()


def finish(query: "StreamingQuery") -> None:
    try:
        assert query.awaitTermination(QUERY_SECONDS_MAX), "the query has not ended"
    finally:
        query.stop()


def expect_failure(query: "StreamingQuery", text: str) -> None:
    from pyspark.errors import StreamingQueryException

    with pytest.raises(StreamingQueryException, match=text):
        finish(query)


# --- reading


def batch_reads(world: World) -> None:
    topic = world.topic("batch")
    rows = world.read(topic, includeHeaders="true").orderBy("offset", "partition").collect()
    assert [int(row.value) for row in rows] == list(range(ALL))
    first = rows[0]
    assert (first.topic, first.partition, first.offset, first.timestampType) == (topic, 0, 0, 0)
    assert (bytes(first.key), first.timestamp.timestamp() * 1000) == (b"k0", BASE_MS)
    assert [(header.key, bytes(header.value)) for header in first.headers] == [("number", b"0")]
    some = world.read(
        topic, columns="value", startingOffsets=_offsets(topic, 5, 20), endingOffsets=_offsets(topic, 9, 20)
    )
    assert some.columns == ["value"]
    assert sorted(int(row.value) for row in some.collect()) == [10, 12, 14, 16]
    late = world.read(topic, startingTimestamp=str(BASE_MS + 30_000), minPartitions="4")
    assert late.count() == 10


def filters(world: World) -> None:
    topic = world.topic("filtered")
    read = world.read(topic, pushDownPredicate="true", maxRecordsPerPartition="5")
    found = read.where("partition = 1 AND offset >= 10 AND string(value) <> '39'")
    assert sorted(int(row.value) for row in found.collect()) == list(range(21, 39, 2))
    if world.connect:  # there is no way to see the tasks
        return
    # Spark 4.0 offers no filters: all is read, and Spark leaves rows out.
    assert found.rdd.getNumPartitions() == (2 if world.version >= (4, 1) else 8)


def restarts(world: World) -> None:
    """A batch that failed is repeated with the same records, the first one and a later one; none is read twice."""
    topic, keep, checkpoint = world.topic("restarted"), world.kept("restarted"), world.checkpoint("restarted")
    options = {"startingOffsets": "latest", "kafka.group.id": "restarted"}
    keep.fail(True)
    expect_failure(start(world.stream(topic, **options), keep, checkpoint), "on purpose")
    world.put(topic, range(40, 50))
    keep.fail(False)
    query = start(world.stream(topic, **options), keep, checkpoint)
    query.processAllAvailable()
    assert keep.numbers == list(range(40, 50))
    keep.fail(True)
    world.put(topic, range(50, 54))
    expect_failure(query, "on purpose")
    world.put(topic, range(54, 60))
    keep.fail(False)
    query = start(world.stream(topic, **options), keep, checkpoint)
    query.processAllAvailable()
    world.put(topic, range(60, 62))
    query.processAllAvailable()
    query.stop()
    assert keep.numbers == list(range(40, 62))
    assert keep.batches[0] == []  # it began at the end, as it was before the first batch failed
    consumer: Any = Consumer({"bootstrap.servers": world.servers, "group.id": "restarted"})
    committed = consumer.committed([TopicPartition(topic, 0), TopicPartition(topic, 1)], PATIENCE_SECONDS)
    consumer.close()
    assert all(place.offset >= 30 for place in committed), committed  # Spark commits one batch late


def limits(world: World) -> None:
    topic, keep, checkpoint = world.topic("limited"), world.kept("limited"), world.checkpoint("limited")
    query = start(world.stream(topic, maxOffsetsPerTrigger="10"), keep, checkpoint)
    query.processAllAvailable()
    assert keep.sizes == [10, 10, 10, 10]
    query.stop()
    world.put(topic, range(40, 60))
    query = start(world.stream(topic, maxOffsetsPerTrigger="16"), keep, checkpoint)
    query.processAllAvailable()
    query.stop()
    assert keep.sizes == [10, 10, 10, 10, 16, 4]
    assert keep.numbers == list(range(60))


def triggers(world: World) -> None:
    topic, keep, checkpoint = world.topic("triggered"), world.kept("triggered"), world.checkpoint("triggered")
    finish(start(world.stream(topic), keep, checkpoint, availableNow=True))
    assert keep.sizes == [40]
    world.put(topic, range(40, 60))
    finish(start(world.stream(topic, maxOffsetsPerTrigger="8"), keep, checkpoint, availableNow=True))
    # Up to 4.1 Spark runs a single batch.
    assert keep.sizes[1:] == ([8, 8, 4] if world.version >= (4, 2) else [8])
    finish(start(world.stream(topic), keep, checkpoint, once=True))
    assert keep.numbers == list(range(60))
    world.put(topic, range(60, 70))
    finish(start(world.stream(topic, maxOffsetsPerTrigger="4"), keep, checkpoint, once=True))
    # Up to 4.1 a source is not told that everything is wanted.
    assert len(keep.numbers) == (70 if world.version >= (4, 2) else 64)


def watched(world: World) -> None:
    from barnabas.spark import UserError, watch

    if world.connect:
        with pytest.raises(UserError, match="A Spark Connect session cannot be watched"):
            watch(world.spark)
        return
    topic, keep = world.topic("watched"), world.kept("watched")
    with watch(world.spark) as watching:
        query = start(world.stream(topic, **{"kafka.group.id": "watched"}), keep, world.checkpoint("watched"))
        query.processAllAvailable()
        query.stop()
    (view,) = [view for view in watching.views() if view.query_id == str(query.id)]
    (source,) = view.sources
    assert source.group_id == "watched"
    consumer: Any = Consumer({"bootstrap.servers": world.servers, "group.id": "watched"})
    committed = consumer.committed([TopicPartition(topic, 0), TopicPartition(topic, 1)], PATIENCE_SECONDS)
    consumer.close()
    assert [place.offset for place in committed] == [20, 20]


# --- writing


def plain_writes(world: World) -> None:
    topic, target = world.topic("plain"), world.topic("plain-copy", 0)
    frame = world.read(topic, includeHeaders="true")
    frame.select("key", "value", "headers", "partition", "timestamp").write.format("barnabas").options(
        **world.sink(target)
    ).mode("append").save()
    copies = [seen[1:] for seen in consume(world.servers, [target], committed=False)]
    assert copies == [seen[1:] for seen in consume(world.servers, [topic], committed=False)]


def plain_stream_writes(world: World) -> None:
    topic, target = world.topic("streamed"), world.topic("streamed-copy", 0)
    writer = world.stream(topic, includeHeaders="true").select("key", "value", "headers", "partition").writeStream
    checkpoint = world.checkpoint("streamed")
    query = writer.format("barnabas").options(**world.sink(target), checkpointLocation=checkpoint)
    finish(query.trigger(availableNow=True).start())
    copies = consume(world.servers, [target], committed=False)
    assert Counter(seen.value for seen in copies) == world.values(topic)
    assert all(seen.headers == (("number", seen.value),) for seen in copies)


def exactly_once_batch(world: World) -> None:
    """A task that fails is repeated, and what it had written is never seen."""
    topic, target, marker = world.topic("once"), world.topic("once-copy", 0), world.folder / "failed-once"
    failing = fails_once(world.read(topic).select("key", "value"), marker)
    failing.write.format("barnabas").options(**world.sink(target), exactlyOnce="true").mode("append").save()
    assert marker.exists()
    assert world.values(target) == world.values(topic)


def exactly_once_stream(world: World) -> None:
    """A task is repeated, and then a whole batch that Spark does not remember."""
    topic, target, marker = world.topic("exact"), world.topic("exact-copy", 0), world.folder / "failed-in-a-stream"
    checkpoint = world.folder / "exact"

    def run() -> None:
        frame = fails_once(world.stream(topic).select("key", "value"), marker)
        writer = frame.writeStream.format("barnabas").options(**world.sink(target), exactlyOnce="true")
        finish(writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start())

    run()
    assert marker.exists()
    assert world.values(target) == world.values(topic)
    world.put(topic, range(40, 50))
    run()
    commits = sorted(int(file.name) for file in (checkpoint / "commits").iterdir() if file.name.isdecimal())
    (checkpoint / "commits" / str(commits[-1])).unlink()
    (checkpoint / "commits" / f".{commits[-1]}.crc").unlink(missing_ok=True)
    world.put(topic, range(50, 60))
    run()  # repeats the batch; up to 4.1 that is all that one trigger does
    run()
    assert world.values(target) == world.values(topic)


def numbered_writes(world: World) -> None:
    """In foreachBatch, twice for the same batch."""
    topic, target = world.topic("numbered"), world.topic("numbered-copy", 0)

    options = {**world.sink(target), "exactlyOnce": "true", "txnAppId": "cases"}

    def write(rows: "DataFrame", batch_id: int) -> None:
        writer = rows.select("key", "value").write.format("barnabas").options(**options)
        for _ in range(2):
            writer.option("txnVersion", batch_id).mode("append").save()

    writer = world.stream(topic).writeStream.foreachBatch(write)
    finish(writer.option("checkpointLocation", world.checkpoint("numbered")).trigger(availableNow=True).start())
    assert world.values(target) == world.values(topic)


# --- pipelines


def pipelines(world: World) -> None:
    """A project that is run to the end, with a record that does not fit."""
    from barnabas.pipeline import spark_session
    from barnabas.pipeline.project import load
    from barnabas.pipeline.project.init import init
    from barnabas.pipeline.run import run
    from barnabas.spark.versions import UnsupportedSpark

    init(world.folder / "shop", "minimal")
    project = load(world.folder / "shop", environment={"BARNABAS_BOOTSTRAP_SERVER": world.servers})
    if world.version < (4, 2):
        with pytest.raises(UnsupportedSpark, match=r"Pipelines need Spark 4\.2 or later"):
            spark_session.start(project)
        return
    events, producer = world.topic("events", 0), Producer({"bootstrap.servers": world.servers})
    for value in (b'{"id": "a", "kind": "order", "amount": 250}', b"neither", b'{"id": "b", "amount": 20}'):
        producer.produce(events, value)
    assert producer.flush(PATIENCE_SECONDS) == 0
    run(project, once=True, spark=world.spark, say=lambda text: None)
    assert world.values("large") == Counter([b'{"id":"a","kind":"order","amount":250.0}'])


def fails_once(frame: "DataFrame", marker: Path) -> "DataFrame":
    """The task with number 39 fails after it has passed the rows before that on, once."""

    def pass_on(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for batch in batches:
            for index, value in enumerate(batch.column("value").to_pylist()):
                if value == b"39" and not marker.exists():
                    marker.touch()
                    yield batch.slice(0, index)
                    raise RuntimeError("once, on purpose")
            yield batch

    return frame.mapInArrow(pass_on, frame.schema)


def _offsets(topic: str, *offsets: int) -> str:
    return json.dumps({topic: {str(partition): offset for partition, offset in enumerate(offsets)}})


CASES: Final[Sequence[Callable[[World], None]]] = (
    batch_reads,
    filters,
    restarts,
    limits,
    triggers,
    watched,
    plain_writes,
    plain_stream_writes,
    exactly_once_batch,
    exactly_once_stream,
    numbered_writes,
    pipelines,
)


def cases(*, connect: bool) -> list[Callable[[World], None]]:
    """Pipelines have a session of their own kind."""
    return [case for case in CASES if not (connect and case is pipelines)]


def session_for(folder: Path, *, connect: bool) -> "SparkSession":
    settings: dict[str, Any] = {
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    }
    master = "local[2,3]"  # a task may fail twice
    if not connect:
        from barnabas.spark import session

        return session("versions", master, **settings)
    from pyspark.sql import SparkSession

    from barnabas.spark.spark_home import spark_home

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_HOME"] = str(spark_home())  # each batch starts a Python process: without this, in seconds
    settings["spark.sql.python.filterPushdown.enabled"] = "true"
    builder = SparkSession.builder.remote(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main(servers: str, folder: Path, *, connect: bool) -> None:
    spark = session_for(folder, connect=connect)
    world = World(spark, servers, folder, connect=connect)
    print(json.dumps({"spark": spark.version, "session": type(spark).__module__}), flush=True)
    for case in cases(connect=connect):
        try:
            case(world)
            trace = None
        except Exception:  # the others are run all the same
            trace = traceback.format_exc()
        print(json.dumps({"case": case.__name__, "trace": trace}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), connect=sys.argv[3:] == ["connect"])
