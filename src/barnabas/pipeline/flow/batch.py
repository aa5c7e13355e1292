"""Runs flows over a handful of rows as a batch, for previews and tests, with as little of Spark as possible."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from barnabas.pipeline.flow.names import quoted
from barnabas.pipeline.project.model import METADATA_COLUMNS
from barnabas.pipeline.spark_session import FOR_FEW_ROWS
from barnabas.spark.arrow.schema import COLUMN_TYPES, arrow_schema

QUICK = {**FOR_FEW_ROWS, "spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false"}
"""Settings for a session with few rows and no state."""

RECORD_COLUMNS = tuple(COLUMN_TYPES)


def records(spark: SparkSession, batches: Sequence[Any]) -> DataFrame:
    """Records as a source returns them, from Arrow batches with RECORD_COLUMNS."""
    import pyarrow as pa

    schema = arrow_schema(RECORD_COLUMNS)
    # Spark cannot make a DataFrame of a table without any batch; an empty batch works.
    table = pa.Table.from_batches(batches or [pa.RecordBatch.from_pylist([], schema)], schema)
    # A copy: Spark cannot take a slice of a larger batch if some of its lists, such as headers, are null.
    return spark.createDataFrame(table.take(pa.array(range(table.num_rows), pa.int64())))


def shown(rows: DataFrame) -> DataFrame:
    """Without the metadata columns, as in outputs."""
    return rows.drop(*METADATA_COLUMNS)


def as_json(rows: DataFrame) -> Column:
    """A row as JSON, as outputs write it."""
    if not rows.columns:
        return fn.lit("{}")
    return fn.to_json(fn.struct(*map(quoted, rows.columns)), {"ignoreNullFields": "false"})
