"""The columns of a write: those of Spark's Kafka connector, and `timestamp`, which it does not have.

    value      string or binary                              required
    key        string or binary
    topic      string                                        required unless the option `topic` names one for all
    partition  int
    headers    array<struct<key: string, value: binary>>
    timestamp  timestamp, or bigint in milliseconds          the record's own time; null: now

Other columns are ignored, as the connector does. Errors have the connector's wording, and say what to do.
"""

from collections.abc import Callable
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from barnabas.spark.errors import UserError

VALUE, KEY, TOPIC, PARTITION, HEADERS, TIMESTAMP = "value", "key", "topic", "partition", "headers", "timestamp"

HEADERS_TYPE: Final = "array<struct<key:string,value:binary>>"


def check_schema(schema: StructType, *, topic: str | None) -> None:
    """UserError if rows of this schema cannot be written; `topic` is the option's."""
    names = schema.fieldNames()
    if topic is None:
        if TOPIC not in names:
            raise UserError(
                "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic.",
                'add option("topic", "NAME"), or a column: withColumn("topic", lit("NAME"))',
            )
        _check(schema, TOPIC, _is_string, "string", "cast it: col('topic').cast('string')")
    if VALUE not in names:
        raise UserError(
            "Required attribute 'value' not found.",
            f"rename the column with the contents to value (the columns are: {', '.join(names) or 'none'}); to write "
            "several columns, use to_json(struct('*')).alias('value')",
        )
    bytes_hint = "cast it to string or binary, or convert it with to_json"
    _check(schema, VALUE, _is_bytes, "string or binary", bytes_hint)
    _check(schema, KEY, _is_bytes, "string or binary", bytes_hint)
    _check(
        schema, PARTITION, lambda kind: isinstance(kind, IntegerType), "int", "cast it: col('partition').cast('int')"
    )
    _check(schema, HEADERS, _is_headers, HEADERS_TYPE, f"cast it to {HEADERS_TYPE}, or drop it")
    _check(
        schema,
        TIMESTAMP,
        lambda kind: isinstance(kind, TimestampType | TimestampNTZType | LongType),
        "timestamp or bigint (milliseconds)",
        "cast it to timestamp; or drop or rename it, and records get the time of writing",
    )


def _check(schema: StructType, name: str, fits: Callable[[DataType], bool], wanted: str, hint: str) -> None:
    if name in schema.fieldNames() and not fits(schema[name].dataType):
        raise UserError(
            f"{name} attribute unsupported type {schema[name].dataType.simpleString()}. {name} must be a(n) {wanted}.",
            hint,
        )


def _is_string(kind: DataType) -> bool:
    return isinstance(kind, StringType)


def _is_bytes(kind: DataType) -> bool:
    return isinstance(kind, StringType | BinaryType)


def _is_headers(kind: DataType) -> bool:
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    fields = [(field.name, field.dataType) for field in kind.elementType.fields]
    return (
        [name for name, _ in fields] == ["key", "value"]
        and _is_string(fields[0][1])
        and isinstance(fields[1][1], BinaryType)
    )
