"""A program that uses the parts of Spark that sessions use, so that Java can archive their classes: `class_archive`.

    python -m barnabas.spark.class_training JAVA_OPTIONS

It reads and writes nothing but a temporary folder. It ends when its JVM has ended.
"""

import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.streaming.readwriter import DataStreamWriter

from barnabas.spark.launch import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCHEMA = "key BINARY, value BINARY, at TIMESTAMP"
_FIELDS = "id STRING, at TIMESTAMP, amount DOUBLE"
_JVM_END_TIMEOUT_S = 300.0
_QUERY_TIMEOUT_S = 120


class OnceReader(SimpleDataSourceStreamReader):
    """A few records, once."""

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 # Spark calls it so
        return {"offset": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[Any, ...]], dict[str, int]]:
        return self.readBetweenOffsets(start, {"offset": 1}), {"offset": 1}

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[tuple[Any, ...]]:  # noqa: N802
        return iter(_records() if start["offset"] == 0 else [])


class Once(DataSource):
    """`format("once")`, as a stream."""

    @classmethod
    def name(cls) -> str:
        return "once"

    def schema(self) -> str:
        return _SCHEMA

    def simpleStreamReader(self, schema: Any) -> SimpleDataSourceStreamReader:  # noqa: N802
        return OnceReader()


def _records() -> list[tuple[Any, ...]]:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return [(b"k", b'{"id": "%d", "at": "2026-01-01T00:00:00Z", "amount": 1.5}' % number, at) for number in range(4)]


def train(spark: "SparkSession", folder: Path) -> None:
    import pyarrow as pa

    keys, values, times = zip(*_records(), strict=True)
    batch = spark.createDataFrame(pa.table({"key": list(keys), "value": list(values), "at": list(times)}))
    _aggregated(spark, batch, "batch").collect()
    _decoded(batch).dropDuplicates(["id"]).write.mode("append").partitionBy("id").parquet(str(folder / "table"))
    spark.read.parquet(str(folder / "table")).selectExpr("count(*)", "max(amount)").collect()

    spark.dataSource.register(Once)
    records = spark.readStream.format("once").load()
    late = _decoded(records).withWatermark("at", "1 minute")
    _finish(late.dropDuplicatesWithinWatermark(["id"]).writeStream.format("parquet"), folder, "rows")
    sums = _aggregated(spark, late, "stream")
    _finish(sums.writeStream.outputMode("update").foreachBatch(_take), folder, "sums")


def _take(rows: "DataFrame", _batch: int) -> None:
    rows.collect()


def _decoded(records: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as fn

    parsed = fn.from_json(fn.col("value").cast("string"), _FIELDS, {"mode": "PERMISSIVE"})
    return records.select("key", parsed.alias("row")).select("key", "row.*").where("amount > 0")


def _aggregated(spark: "SparkSession", records: "DataFrame", name: str) -> "DataFrame":
    rows = _decoded(records) if "value" in records.columns else records
    rows.createOrReplaceTempView(name)
    found = spark.sql(
        f"SELECT id, window.start AS start, count(*) AS rows, avg(amount) AS mean FROM {name} "
        "GROUP BY id, window(at, '1 minute')"
    )
    return found.selectExpr("id AS key", "to_json(struct(*)) AS value")


def _finish(writer: DataStreamWriter, folder: Path, name: str) -> None:
    options = {"checkpointLocation": str(folder / f"{name}-checkpoint"), "path": str(folder / name)}
    query = writer.options(**options).trigger(availableNow=True).start()
    if not query.awaitTermination(_QUERY_TIMEOUT_S):
        raise TimeoutError(f"the query `{name}` did not end in {_QUERY_TIMEOUT_S} s")


def main(java_options: str) -> None:
    with tempfile.TemporaryDirectory(prefix="barnabas-training-") as folder:
        settings: dict[str, Any] = {
            "spark.driver.extraJavaOptions": java_options,
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
        }
        spark = session("training", "local[2]", **settings)
        jvm: Any = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
        train(spark, Path(folder))
        spark.stop()
        # It ends when its stdin is closed, and then writes the archive.
        jvm.stdin.close()
        jvm.wait(_JVM_END_TIMEOUT_S)


if __name__ == "__main__":
    main(sys.argv[1])
