"""Watermarks, and the removal of duplicates within a bounded time."""

from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn

from barnabas.pipeline.flow.names import quoted
from barnabas.pipeline.project.model import Deduplicate, Source, Watermark

_DELAY = "spark.watermarkDelayMs"
"""The name under which Spark stores a watermark's delay in the metadata of its column."""
_DUPLICATE = "__barnabas_duplicate"


def with_watermark(rows: DataFrame, source: Source) -> DataFrame:
    """In a batch it has no effect, and Spark removes it."""
    if source.watermark is None:
        return rows
    return rows.withWatermark(quoted(source.watermark.column), source.watermark.delay.spark)


def without_duplicates(rows: DataFrame, source: Source, *, streaming: bool) -> DataFrame:
    if source.deduplicate is None or source.watermark is None:  # the loader requires a watermark for it
        return rows
    if streaming:
        return _forgetting(rows, source.deduplicate, source.watermark)
    return _all_at_once(rows, source.deduplicate, source.watermark)


def _forgetting(rows: DataFrame, deduplicate: Deduplicate, watermark: Watermark) -> DataFrame:
    """Spark remembers a row until the watermark has passed its time by the watermark's delay, but a duplicate may come
    later than that. The operator reads the delay from the column's metadata, so the metadata is changed before it and
    restored after it: the watermark itself stays as it is."""
    column = next(name for name in rows.columns if name.lower() == watermark.column.lower())
    metadata = rows.schema[column].metadata
    patience_ms = max(deduplicate.within.ms, watermark.delay.ms)
    patient = _with_metadata(rows, column, {**metadata, _DELAY: patience_ms})
    return _with_metadata(patient.dropDuplicatesWithinWatermark(list(deduplicate.by)), column, metadata)


def _with_metadata(rows: DataFrame, column: str, metadata: dict[str, Any]) -> DataFrame:
    return rows.select(
        *(
            fn.col(quoted(name)).alias(name, metadata=metadata) if name == column else fn.col(quoted(name))
            for name in rows.columns
        )
    )


def _all_at_once(rows: DataFrame, deduplicate: Deduplicate, watermark: Watermark) -> DataFrame:
    """The first of the rows that follow each other within the time, in the order of the log."""
    in_order = Window.partitionBy(*map(quoted, deduplicate.by)).orderBy("_timestamp", "_partition", "_offset")
    at = fn.unix_micros(fn.col(quoted(watermark.column)).cast("timestamp"))
    since = at - fn.lag(at).over(in_order)
    marked = rows.withColumn(_DUPLICATE, fn.coalesce(since <= deduplicate.within.ms * 1000, fn.lit(False)))
    return marked.where(~fn.col(_DUPLICATE)).drop(_DUPLICATE)
