"""The columns of a read: those of Spark's Kafka connector, all or the requested ones.

Spark does not tell a Python source which columns a query needs. A user does, with `.schema(...)` or the option
`columns`; other columns are never built.
"""

from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas.history.declared import ERROR_COLUMN
from barnabas.spark.errors import UserError
from barnabas.spark.options.names import nearest
from barnabas.spark.options.source import SourceOptions

if TYPE_CHECKING:
    from barnabas.history.declared import Column

HEADERS = "headers"

_TYPES: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    HEADERS: ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
}


_TYPED: dict[str, DataType] = {
    "BOOLEAN": BooleanType(),
    "TINYINT": ByteType(),
    "SMALLINT": ShortType(),
    "INT": IntegerType(),
    "BIGINT": LongType(),
    "FLOAT": FloatType(),
    "DOUBLE": DoubleType(),
    "STRING": StringType(),
    "TIMESTAMP": TimestampType(),
    "DATE": DateType(),
}


def _types_with(typed: "tuple[Column, ...]") -> dict[str, DataType]:
    """The connector's columns, followed by the typed ones of a history."""
    if not typed:
        return _TYPES
    return {**_TYPES, **{column.name: _TYPED[column.type] for column in typed}, ERROR_COLUMN: StringType()}


def default_schema(
    columns: tuple[str, ...] | None, *, include_headers: bool, typed: "tuple[Column, ...]" = ()
) -> StructType:
    """Of a read without `.schema(...)`."""
    types = _types_with(typed)
    if columns is None:
        columns = tuple(name for name in types if name != HEADERS or include_headers)
    _check_names(columns, "The option columns", types)
    return StructType([StructField(name, types[name]) for name in columns])


def columns_of(schema: StructType, options: SourceOptions) -> tuple[str, ...]:
    """The columns to build for this schema, in its order; the user may have given it."""
    names = tuple(field.name for field in schema.fields)
    types = _types_with(options.typed)
    _check_names(names, "The schema", types)
    for field in schema.fields:
        _check_field(field, types[field.name])
    if options.columns is not None and options.columns != names:
        raise UserError(
            f"The schema has the columns {', '.join(names)}, and the option columns {', '.join(options.columns)}.",
            "use one of the two",
        )
    return names


def _check_names(names: tuple[str, ...], where: str, types: dict[str, DataType]) -> None:
    for name in names:
        if name not in types:
            meant = nearest(name, types)
            raise UserError(
                f"{where} has a column {name}, which records do not have.",
                f"did you mean {meant}?" if meant else f"the columns are {', '.join(types)}",
            )
    if len(set(names)) < len(names):
        raise UserError(f"{where} names a column twice: {', '.join(names)}.", "name each once")
    if not names:
        raise UserError(f"{where} has no column.", f"name some of {', '.join(types)}")


def _check_field(field: StructField, wanted: DataType) -> None:
    if field.dataType.simpleString() != wanted.simpleString():
        cast = "like CAST(value AS STRING) or from_json" if isinstance(wanted, BinaryType) else "with CAST"
        raise UserError(
            f"The column {field.name} is {wanted.simpleString()}, but the schema says {field.dataType.simpleString()}.",
            f"write {wanted.simpleString()} in the schema, and convert the column afterwards, {cast}",
        )
    if field != StructField(field.name, wanted):
        raise UserError(
            f"The schema declares {field.name}, or a field in it, as NOT NULL or with metadata.",
            f"remove that: {field.name} {wanted.simpleString()}",
        )
