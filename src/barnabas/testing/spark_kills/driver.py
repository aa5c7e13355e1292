"""The query that is killed: topic to topic, with a shuffle, tasks of uneven length, and a batch every few rows.

Runs until it is killed or its query fails; then it is restarted, as drivers are. The first argument has its settings as
JSON.
"""

import json
import random
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def straggle(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Some tasks are slow, so that Spark starts a second attempt."""
    if random.random() < 0.3:
        time.sleep(random.uniform(0.3, 1.0))
    yield from batches


def main(settings: dict[str, Any]) -> None:
    from barnabas.spark import session
    from barnabas.testing.spark_kills.data_source import KilledDataSource

    spark = session("spark-kills", settings["master"], **settings["conf"])
    spark.dataSource.register(KilledDataSource)
    rows = (
        spark.readStream.format("barnabas")
        .option("kafka.bootstrap.servers", settings["bootstrap"])
        .option("subscribe", settings["input"])
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", settings["rows_per_batch"])
        .load()
        .selectExpr("value")
        .repartition(settings["tasks"], "value")
        .mapInArrow(straggle, "value binary")
    )
    query = (
        rows.writeStream.format("barnabas-killed")
        .option("kafka.bootstrap.servers", settings["bootstrap"])
        .option("topic", settings["output"])
        .options(**settings["sink"])
        .option("checkpointLocation", settings["checkpoint"])
        .start()
    )
    print("started", flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
