"""The same rows, written by our sink and by Spark's own Kafka connector: a consumer finds the same records."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark_contents import Contents, make_topics
from spark_queries import FORMATS, OURS, STREAM_SECONDS_MAX, refusal
from spark_records import Seen, consume
from spark_sinks import COUNT, SINK_MISTAKES, WRITTEN, SinkMistake, Written
from test_spark_refusals import LINES_MAX

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

PARTITIONS = 5

Found = tuple[int, bytes | None, bytes | None, object]


def found_in(servers: str, topic: str, *, placed: bool) -> list[Found]:
    """The fields that do not depend on the time of the write, nor on what other tasks wrote in between."""

    def of(seen: Seen) -> Found:
        return (seen.partition if placed or seen.key is not None else -1, seen.key, seen.value, seen.headers)

    return sorted(map(of, consume(servers, [topic], committed=True)), key=repr)


def write(frame: "DataFrame", kind: str, servers: str, options: dict[str, str]) -> None:
    frame.write.format(kind).options(**{"kafka.bootstrap.servers": servers, **options}).mode("append").save()


@pytest.mark.parametrize("written", WRITTEN, ids=lambda written: written.name)
def test_batches_are_written_alike(
    spark: "SparkSession", contents: Contents, barnabas_topic: str, written: Written
) -> None:
    servers = contents.servers
    topics = {kind: f"{barnabas_topic}-{kind}" for kind in FORMATS}
    once = f"{barnabas_topic}-once"
    make_topics(servers, dict.fromkeys([*topics.values(), once], PARTITIONS))
    for kind, topic in topics.items():
        write(written.frame(spark, topic), kind, servers, {**written.options, "topic": topic})
    write(written.frame(spark, once), OURS, servers, {**written.options, "topic": once, "exactlyOnce": "true"})
    results = [found_in(servers, topic, placed=written.placed) for topic in (*topics.values(), once)]
    assert len(results[0]) == COUNT
    assert results[0] == results[1] == results[2]


def test_rows_choose_their_topics(spark: "SparkSession", contents: Contents, barnabas_topic: str) -> None:
    """Unless an option says otherwise."""
    servers = contents.servers
    names = {kind: [f"{barnabas_topic}-{kind}-{number}" for number in range(3)] for kind in FORMATS}
    make_topics(servers, {name: 2 for kind in FORMATS for name in names[kind]})
    for kind in FORMATS:
        columns = ("cast(id as string) as key", "'v' as value", f"concat('{barnabas_topic}-{kind}-', id % 2) as topic")
        frame = spark.range(40).selectExpr(*columns)
        write(frame, kind, servers, {})
        write(frame, kind, servers, {"topic": names[kind][2]})
    found = {kind: [found_in(servers, name, placed=True) for name in names[kind]] for kind in FORMATS}
    first, second = found.values()
    assert [len(records) for records in first] == [20, 20, 40]
    assert first == second


def test_streams_are_written_alike(
    spark: "SparkSession", contents: Contents, barnabas_topic: str, tmp_path: Path
) -> None:
    servers = contents.servers
    topics = {kind: f"{barnabas_topic}-{kind}" for kind in FORMATS}
    make_topics(servers, dict.fromkeys(topics.values(), PARTITIONS))
    source = {"kafka.bootstrap.servers": servers, "subscribe": "plain", "startingOffsets": "earliest"}

    def run(kind: str) -> None:
        options = {**source, "includeHeaders": "true", "maxOffsetsPerTrigger": "150"}
        frame = spark.readStream.format(kind).options(**options).load()
        query = (
            frame.selectExpr("key", "value", "headers", "partition + 1 as partition")
            .writeStream.format(kind)
            .options(**{"kafka.bootstrap.servers": servers, "topic": topics[kind]})
            .option("checkpointLocation", str(tmp_path / kind))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(STREAM_SECONDS_MAX)

    for kind in FORMATS:
        run(kind)
    found = [found_in(servers, topic, placed=True) for topic in topics.values()]
    assert len(found[0]) == sum(seen.topic == "plain" for seen in contents.records(committed=False))
    assert found[0] == found[1]


@pytest.mark.parametrize("mistake", SINK_MISTAKES, ids=lambda mistake: mistake.name)
def test_a_write_is_refused(spark: "SparkSession", contents_for_sinks: Contents, mistake: SinkMistake) -> None:
    servers = contents_for_sinks.servers
    frame, options = mistake.frame(spark), dict(mistake.options)
    answers = {kind: refusal(partial(write, frame, kind, servers, options)) for kind in FORMATS}
    answer = answers[OURS]
    for word in mistake.named:
        assert word in answer, answer
    assert "hint: " in answer, answer
    assert len(answer.splitlines()) <= LINES_MAX, answer


@pytest.fixture(scope="module")
def contents_for_sinks(contents_on_barnabas: Contents) -> Contents:
    make_topics(contents_on_barnabas.servers, {"sunk": 2})
    return contents_on_barnabas
