"""From records to columns. A record that does not fit its schema is marked, never silently emptied.

Spark's `from_json` and `from_csv` put null where something does not fit. They also tell, in a column of its own, that
something did not: with it, misfits are found. What exactly is wrong is looked up only for them (`flow.misfits`).
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from barnabas.pipeline.flow.names import CORRUPT, MISFIT, PARSED, VALUE, quoted
from barnabas.pipeline.flow.requirements import decodable, violations
from barnabas.pipeline.project.model import Format, Source
from barnabas.pipeline.project.types import Primitive
from barnabas.spark.errors import UserError

_TEXT = "CAST(value AS STRING)"
_ROW = f"{PARSED}.row"
_OWN_OPTIONS = ("mode", "columnnameofcorruptrecord")


def decode(records: DataFrame, source: Source) -> DataFrame:
    """The columns of the schema, METADATA_COLUMNS, the value as it was, and whether it does not fit."""
    parsed = _parsed(records, source)
    columns = [fn.expr(f"{_ROW}.{quoted(name)}").alias(name) for name in source.schema.names]
    return parsed.select(
        *columns,
        *_metadata(),
        fn.col("value").alias(VALUE),
        fn.coalesce(fn.expr(_misfit(source)), fn.lit(False)).alias(MISFIT),
    )


def can_misfit(source: Source) -> bool:
    """Any bytes are binary; everything else can be wrong."""
    return source.format is not Format.BINARY


def _parsed(records: DataFrame, source: Source) -> DataFrame:
    """With the column PARSED: a struct with the struct `row`, and for some formats what could not be read."""
    match source.format:
        case Format.JSON:
            # In an object of our own, so that whatever stands behind the value is an error: `from_json` would read
            # the first of two documents and say nothing of the second.
            text = fn.expr(f"concat('{{\"row\":', {_TEXT}, '}}')")
            schema = f"row STRUCT<{decodable(source.schema.columns)}>, {CORRUPT} STRING"
            parsed = fn.from_json(text, schema, _options(source))
        case Format.CSV:
            _check_flat(source)
            schema = f"{decodable(source.schema.columns)}, {CORRUPT} STRING"
            flat = fn.from_csv(fn.expr(_line()), fn.lit(schema), _options(source))
            return records.withColumn(CORRUPT, flat).withColumn(PARSED, fn.expr(f"struct({CORRUPT} AS row)"))
        case Format.AVRO:
            from barnabas.pipeline.flow.decode_avro import with_decoded

            return with_decoded(records, source)
        case Format.TEXT:
            parsed = fn.expr(f"struct(struct({_TEXT} AS value) AS row)")
        case Format.BINARY:
            parsed = fn.expr("struct(struct(value) AS row)")
    return records.withColumn(PARSED, parsed)


def _misfit(source: Source) -> str:
    """A condition in SQL."""
    not_text = f"NOT is_valid_utf8({_TEXT})"
    if source.format is Format.TEXT:
        return not_text
    if source.format is Format.BINARY:
        return "false"
    conditions = ["value IS NULL", f"{_ROW} IS NULL"]
    if source.format is Format.JSON:
        conditions += [f"{PARSED}.{CORRUPT} IS NOT NULL", not_text]
    elif source.format is Format.CSV:
        conditions += [f"{_ROW}.{CORRUPT} IS NOT NULL", not_text, f"{_line()} = ''"]
    return " OR ".join(conditions + violations(source, _ROW))


def _line() -> str:
    """A line's end belongs to the file that the line once came from."""
    return f"trim(TRAILING '\\r\\n' FROM {_TEXT})"


def _options(source: Source) -> dict[str, str]:
    """With an option set, Spark's optimizer leaves the schema whole; it would else skip columns that nobody asks for,
    and with them what is wrong in them."""
    for name in source.format_options:
        if name.lower() in _OWN_OPTIONS:
            raise UserError(
                f"source `{source.name}` has the format option `{name}`, which is not its to set",
                "remove it: what cannot be read becomes a dead letter",
            )
    return {**source.format_options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}


def _check_flat(source: Source) -> None:
    for column in source.schema.columns:
        if not isinstance(column.type, Primitive) or column.type.name in ("VARIANT", "BINARY"):
            raise UserError(
                f"source `{source.name}` reads csv, which cannot hold the column `{column.name}` of the type "
                f"{column.type}",
                "read it as STRING, and convert it in a flow",
            )


def _metadata() -> list[Column]:
    return [fn.col(name).alias(f"_{name}") for name in ("key", "topic", "partition", "offset", "timestamp", "headers")]
