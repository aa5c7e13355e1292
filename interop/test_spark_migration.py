"""A query moves from Spark's own Kafka connector to ours with its checkpoint: nothing is lost, nothing read twice."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from spark_contents import flush, producer_for
from spark_queries import OURS, THEIRS

from barnabas.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOPIC = "moves"


def test_a_checkpoint_of_the_connector_is_continued(spark: "SparkSession", broker: Broker, tmp_path: Path) -> None:
    broker.create_topic(TOPIC, 2)
    sent: list[str] = []
    for kind in (THEIRS, OURS, OURS):
        more = [f"{len(sent) + number}" for number in range(4)]
        producer = producer_for(broker.bootstrap_servers)
        for number, value in enumerate(more):
            producer.produce(TOPIC, value.encode(), partition=number % 2)
        flush(producer)
        sent += more
        rows = (
            spark.readStream.format(kind)
            .option("kafka.bootstrap.servers", broker.bootstrap_servers)
            .option("subscribe", TOPIC)
            .option("startingOffsets", "earliest")
            .load()
        )
        query = (
            rows.selectExpr("CAST(value AS STRING) AS value")
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "rows"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        found = [row.value for row in spark.read.parquet(str(tmp_path / "rows")).collect()]
        assert sorted(found, key=int) == sent
