"""Batch writes with an id and a number: a repeated write writes nothing twice, however the first attempt ended."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from committed_rows import committed

from barnabas.client.cluster import Cluster
from barnabas.client.transaction_listing import open_transactions
from barnabas.spark import UserError, readable_errors
from barnabas.spark.options.sink import sink_options
from barnabas.spark.sink.exactly_once import exactly_once_delivery, steps
from barnabas.spark.sink.exactly_once.names import numbered_names
from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PREFIX = "barnabas-spark-app-"


def options(target: Broker, topic: str | None, number: int, app_id: str = "app") -> dict[str, str]:
    base = {"kafka.bootstrap.servers": target.bootstrap_servers, "exactlyOnce": "true"}
    return {**base, **({"topic": topic} if topic else {}), "txnAppId": app_id, "txnVersion": str(number)}


def test_no_name_is_the_beginning_of_another() -> None:
    ids = ["a", "a-task-0", "a.b"]
    topics = [None, "t", "t-task-0", "b.t"]
    prefixes = [numbered_names(None, app_id, topic).task_prefix for app_id in ids for topic in topics]
    assert len(set(prefixes)) == len(ids) * len(topics)
    for one in prefixes:
        assert [other for other in prefixes if other.startswith(one)] == [one]


@pytest.mark.spark
def test_a_write_that_is_made_again(spark: "SparkSession", target: Broker, cluster: Cluster) -> None:
    def write(rows: Sequence[int], topic: str, number: int, **more: str) -> None:
        frame = spark.createDataFrame([(str(row),) for row in rows], "value string").repartition(2)
        frame.write.format("barnabas").options(**options(target, topic, number, **more)).mode("append").save()

    for topic in ("one", "two"):
        target.create_topic(topic)
    for topic in ("one", "two"):  # each topic is counted by itself
        write(range(5), topic, 0)
    write(range(100), "one", 0)
    write([5], "one", 3)
    write([5, 6], "one", 3)
    write([6], "one", 0, app_id="other")
    assert committed(cluster, "one") == Counter(["0", "1", "2", "3", "4", "5", "6"])
    assert committed(cluster, "two") == Counter(["0", "1", "2", "3", "4"])
    with pytest.raises(UserError, match="batch 3 was already written"), readable_errors():
        write([7], "one", 2)
    assert open_transactions(cluster, PREFIX) == {}
    # Spark may have no task at all for a batch; the decision is still looked up.
    delivery = exactly_once_delivery(sink_options(options(target, "one", 3)), streaming=False)
    delivery.commit([], None)
    assert committed(cluster, "one").total() == 7


@pytest.mark.spark
def test_update_mode_through_a_crash_between_decision_and_end(
    spark: "SparkSession", target: Broker, cluster: Cluster, tmp_path: Path
) -> None:
    """The committing process dies once right after the decision of batch 1, and once while it rolls it forward."""
    from barnabas.testing.spark_kills.data_source import KilledDataSource

    spark.dataSource.register(KilledDataSource)
    target.create_topic("counts")
    for number, words in enumerate((["a", "b", "a"], ["b", "c"], ["a"])):
        frame = spark.createDataFrame([(word,) for word in words], "value string").coalesce(1)
        frame.write.text(str(tmp_path / "in" / str(number)))
    steps_file = tmp_path / "steps"

    def write(rows: "DataFrame", batch_id: int) -> None:
        kills: dict[str, Any] = {"stepsTo": steps_file}
        if batch_id == 1:
            made = ";".join(str(tmp_path / f"killed-{number}") for number in range(2))
            kills |= {"killAt": f"{steps.DECIDED};{steps.COPYING}", "killWhat": "self;self", "killOnce": made}
        records = rows.selectExpr("concat(value, string(count)) AS value")
        given = options(target, "counts", batch_id)
        records.write.format("barnabas-killed").options(**given, **kills).mode("append").save()

    def run() -> Exception | None:
        query = (
            spark.readStream.schema("value string")
            .option("maxFilesPerTrigger", 1)
            .option("recursiveFileLookup", True)
            .text(str(tmp_path / "in"))
            .groupBy("value")
            .count()
            .writeStream.outputMode("update")
            .foreachBatch(write)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        except Exception as error:
            return error
        return None

    assert run() is not None, "killed after the decision"
    assert (tmp_path / "killed-0").exists()
    from barnabas.client.transaction import Transactions

    for transactional_id in open_transactions(cluster, PREFIX):  # what a timeout does
        Transactions(cluster).abandon(transactional_id, timeout_ms=60_000)
    assert run() is not None, "killed while it copies"
    assert run() is None
    assert committed(cluster, "counts") == Counter(["a2", "b1", "b2", "c1", "a3"])
    assert open_transactions(cluster, PREFIX) == {}
    assert Counter(line.split()[-1] for line in steps_file.read_text().splitlines())[steps.ROLLED_FORWARD] == 1
