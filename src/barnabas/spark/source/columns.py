"""The columns of a read: those of Spark's Kafka connector, all or the ones asked for.

Spark does not tell a Python source which columns a query needs. A user does, with `.schema(...)` or the option
`columns`; what is not asked for is never built.
"""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas.spark.errors import UserError
from barnabas.spark.options.names import nearest
from barnabas.spark.options.source import SourceOptions

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


def default_schema(columns: tuple[str, ...] | None, *, include_headers: bool) -> StructType:
    """Of a read without `.schema(...)`."""
    if columns is None:
        columns = tuple(name for name in _TYPES if name != HEADERS or include_headers)
    _check_names(columns, "The option columns")
    return StructType([StructField(name, _TYPES[name]) for name in columns])


def columns_of(schema: StructType, options: SourceOptions) -> tuple[str, ...]:
    """What to build for this schema, in its order; the schema may be the user's own."""
    names = tuple(field.name for field in schema.fields)
    _check_names(names, "The schema")
    for field in schema.fields:
        _check_field(field)
    if options.columns is not None and options.columns != names:
        raise UserError(
            f"The schema has the columns {', '.join(names)}, and the option columns {', '.join(options.columns)}.",
            "use one of the two",
        )
    return names


def _check_names(names: tuple[str, ...], where: str) -> None:
    for name in names:
        if name not in _TYPES:
            meant = nearest(name, _TYPES)
            raise UserError(
                f"{where} has a column {name}, which records do not have.",
                f"did you mean {meant}?" if meant else f"the columns are {', '.join(_TYPES)}",
            )
    if len(set(names)) < len(names):
        raise UserError(f"{where} names a column twice: {', '.join(names)}.", "name each once")
    if not names:
        raise UserError(f"{where} has no column.", f"name some of {', '.join(_TYPES)}")


def _check_field(field: StructField) -> None:
    wanted = _TYPES[field.name]
    if field.dataType.simpleString() != wanted.simpleString():
        cast = "like CAST(value AS STRING) or from_json" if isinstance(wanted, BinaryType) else "with CAST"
        raise UserError(
            f"The column {field.name} is {wanted.simpleString()}, but the schema says {field.dataType.simpleString()}.",
            f"say {wanted.simpleString()} in the schema, and convert the column afterwards, {cast}",
        )
    if field != StructField(field.name, wanted):
        raise UserError(
            f"The schema says that {field.name}, or something in it, is never null, or describes it with metadata.",
            f"leave that out: {field.name} {wanted.simpleString()}",
        )
