"""The same options, the same batches: streams of our source and of Spark's own Kafka connector."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark_cases import STREAM, STREAM_ELSEWHERE, Case
from spark_contents import Contents, add_partitions, delete_records, flush, make_topics, producer_for
from spark_queries import FORMATS, OURS, THEIRS, for_both, refusal, stream
from spark_records import Seen, consume

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("case", STREAM, ids=lambda case: case.name)
def test_streams_give_the_same_batches(
    spark: "SparkSession", contents_on_barnabas: Contents, case: Case, tmp_path: Path
) -> None:
    compare(spark, contents_on_barnabas, case, tmp_path)


@pytest.mark.parametrize("case", STREAM_ELSEWHERE, ids=lambda case: case.name)
def test_streams_give_the_same_batches_on_apache_kafka(
    spark: "SparkSession", contents_on_apache_kafka: Contents, case: Case, tmp_path: Path
) -> None:
    compare(spark, contents_on_apache_kafka, case, tmp_path)


def compare(spark: "SparkSession", contents: Contents, case: Case, tmp_path: Path) -> None:
    found = for_both(lambda kind: stream(spark, kind, contents.servers, case.options, tmp_path / kind))
    wanted = case.expected(contents)
    for kind, batches in found.items():
        assert sorted_rows(batches) == wanted, kind
    assert found[OURS] == found[THEIRS]
    assert (len(found[OURS]) > 1) == case.cut


def produce(servers: str, topic: str, counts: Mapping[int, int]) -> None:
    """So many more records in each partition."""
    producer = producer_for(servers)
    for partition, count in counts.items():
        for number in range(count):
            producer.produce(topic, b"%d of %d" % (number, count), partition=partition)
    flush(producer)


def sorted_rows(batches: list[list[Seen]]) -> list[Seen]:
    return sorted((seen for batch in batches for seen in batch), key=lambda seen: seen[:3])


def test_resumed_streams_go_on_where_they_were(
    spark: "SparkSession", contents: Contents, barnabas_topic: str, tmp_path: Path
) -> None:
    servers, topic = contents.servers, barnabas_topic
    options = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "20"}
    make_topics(servers, {topic: 2})
    seen_before: list[Seen] = []
    for counts in ({0: 30, 1: 5}, {0: 1}, {0: 10, 1: 11, 2: 12}):
        if 2 in counts:
            add_partitions(servers, topic, 3)
        produce(servers, topic, counts)
        found = for_both(lambda kind: stream(spark, kind, servers, options, tmp_path / kind))
        now_there = [seen.without_headers() for seen in consume(servers, [topic], committed=False)]
        assert sorted_rows(found[OURS]) == [seen for seen in now_there if seen not in seen_before]
        assert found[OURS] == found[THEIRS]
        seen_before = now_there


def test_streams_whose_records_were_deleted(
    spark: "SparkSession", contents: Contents, barnabas_topic: str, tmp_path: Path
) -> None:
    """They fail, or continue with the records that are left."""
    servers, topic = contents.servers, barnabas_topic
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    make_topics(servers, {topic: 2})
    produce(servers, topic, {0: 20, 1: 20})
    for kind in FORMATS:
        assert len(sorted_rows(stream(spark, kind, servers, options, tmp_path / kind))) == 40
    produce(servers, topic, {0: 20, 1: 5})
    delete_records(servers, topic, {0: 33})
    for kind in FORMATS:
        assert refusal(partial(stream, spark, kind, servers, options, tmp_path / kind))
    options["failOnDataLoss"] = "false"
    found = for_both(lambda kind: stream(spark, kind, servers, options, tmp_path / kind))
    places = [(seen.partition, seen.offset) for seen in sorted_rows(found[OURS])]
    assert places == [*((0, offset) for offset in range(33, 40)), *((1, offset) for offset in range(20, 25))]
    assert found[OURS] == found[THEIRS]
