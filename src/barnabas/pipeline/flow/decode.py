"""Decodes records into columns. A record that does not match its schema is marked, never silently set to null.

Spark's `from_json` and `from_csv` return null for what does not match, and fill a separate column if anything did not.
That column identifies the misfits. What exactly is wrong is determined only for them (`flow.misfits`).
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from barnabas.model.column_types import Primitive
from barnabas.pipeline.flow.names import CORRUPT, MISFIT, PARSED, VALUE, quoted
from barnabas.pipeline.flow.requirements import decodable, violations
from barnabas.pipeline.project.model import Format, Source
from barnabas.spark.errors import UserError

_TEXT = "CAST(value AS STRING)"
_ROW = f"{PARSED}.row"
_OWN_OPTIONS = ("mode", "columnnameofcorruptrecord")


def decode(records: DataFrame, source: Source) -> DataFrame:
    """The columns of the schema, METADATA_COLUMNS, the original value, and whether it does not match."""
    parsed = _parsed(records, source)
    columns = [fn.expr(f"{_ROW}.{quoted(name)}").alias(name) for name in source.schema.names]
    return parsed.select(
        *columns,
        *_metadata(),
        fn.col("value").alias(VALUE),
        fn.coalesce(fn.expr(_misfit(source)), fn.lit(False)).alias(MISFIT),
    )


def can_misfit(source: Source) -> bool:
    """Any bytes are valid as binary; every other format can mismatch."""
    return source.format is not Format.BINARY


def _parsed(records: DataFrame, source: Source) -> DataFrame:
    """Adds the column PARSED: a struct with the struct `row`, and for some formats the text that could not be read."""
    match source.format:
        case Format.JSON:
            # Wrapped in an object, so that anything after the value is an error: `from_json` would read the first of
            # two documents and ignore the second.
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
    """Without a line end, which belongs to the file that the line came from."""
    return f"trim(TRAILING '\\r\\n' FROM {_TEXT})"


def _options(source: Source) -> dict[str, str]:
    """With an option set, Spark's optimizer keeps the whole schema. Otherwise it would skip columns that no query uses,
    and the errors in them."""
    for name in source.format_options:
        if name.lower() in _OWN_OPTIONS:
            raise UserError(
                f"source `{source.name}` has the format option `{name}`, which cannot be set",
                "remove it: records that cannot be read become dead letters",
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
