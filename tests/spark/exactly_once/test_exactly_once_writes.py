"""Exactly-once writes by Spark without kills: batches, streams, failing tasks, and what they leave behind."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from committed_rows import committed

from barnabas.client.cluster import Cluster
from barnabas.client.transaction_listing import open_transactions
from barnabas.client.transaction_log import log_bounds, read_log
from barnabas.records.record import decode_records
from barnabas.spark.sink.exactly_once.names import DECISIONS_TOPIC
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def write(rows: "DataFrame", target: Broker, topic: str) -> None:
    options = {"kafka.bootstrap.servers": target.bootstrap_servers, "topic": topic, "exactlyOnce": "true"}
    rows.write.format("barnabas").options(**options).mode("append").save()


def test_a_batch_write_leaves_nothing_behind(spark: "SparkSession", target: Broker, cluster: Cluster) -> None:
    target.create_topic("batch")
    write(spark.range(0, 100, 1, 3).selectExpr("cast(id as string) value"), target, "batch")
    write(spark.range(0).selectExpr("cast(id as string) value"), target, "batch")
    assert committed(cluster, "batch") == Counter(str(number) for number in range(100))
    assert open_transactions(cluster, "barnabas-spark") == {}
    last_values: dict[bytes | None, bytes | None] = {}
    start, _ = log_bounds(cluster, DECISIONS_TOPIC, 0)
    for batch in read_log(cluster, DECISIONS_TOPIC, 0, start=start):
        if not batch.header.is_control:
            last_values.update({each.key: each.value for each in decode_records(batch, max_bytes=1 << 20)})
    runs = {key: value for key, value in last_values.items() if key is not None and b"-run-" in key}
    assert runs
    assert set(runs.values()) == {None}, "nobody will look for the decision about a batch write"


def test_of_a_batch_write_that_fails_nothing_is_seen(spark: "SparkSession", target: Broker, cluster: Cluster) -> None:
    target.create_topic("failed")
    rows = spark.range(0, 100, 1, 3).selectExpr(
        "cast(if(id = 99, raise_error('no such row'), id) as string) value",
    )
    with pytest.raises(Exception, match="no such row"):
        write(rows, target, "failed")
    assert committed(cluster, "failed") == Counter()
    assert open_transactions(cluster, "barnabas-spark") == {}


def test_a_stream_with_a_prefix_of_its_own(
    spark: "SparkSession", target: Broker, cluster: Cluster, tmp_path: Path
) -> None:
    target.create_topic("stream")
    source = tmp_path / "source"
    for number in range(3):
        spark.range(number * 10, number * 10 + 10).selectExpr("cast(id as string) value").write.text(
            str(source / str(number))
        )
    query = (
        spark.readStream.schema("value string")
        .option("maxFilesPerTrigger", 1)
        .option("recursiveFileLookup", True)
        .text(str(source))
        .repartition(2)
        .writeStream.format("barnabas")
        .option("kafka.bootstrap.servers", target.bootstrap_servers)
        .option("topic", "stream")
        .option("exactlyOnce", "true")
        .option("exactlyOnceId", "team-a")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert committed(cluster, "stream") == Counter(str(number) for number in range(30))
    assert open_transactions(cluster, "team-a") == {}
