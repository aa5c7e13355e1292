"""A declared schema: the typed columns that JSON values are decoded to, written as in SQL: `id STRING, at TIMESTAMP`.

They are added to the connector's columns, so they cannot have the same names. Only plain types: nested fields stay in
`value`, or are declared STRING and come as JSON text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from barnabas.history.errors import BadSchema
from barnabas.model.column_types import quoted
from barnabas.model.ddl import NotDdl, parse_ddl

CONNECTOR_COLUMNS: Final = (
    "key",
    "value",
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestampType",
    "headers",
)
ERROR_COLUMN: Final = "decode_error"
"""Why a value did not match the declared schema; null if it did."""

TYPES: Final = (
    "BIGINT",
    "BOOLEAN",
    "DATE",
    "DOUBLE",
    "FLOAT",
    "INT",
    "SMALLINT",
    "STRING",
    "TIMESTAMP",
    "TINYINT",
)
_EXAMPLE: Final = "write it like id STRING, at TIMESTAMP"
_PLAIN_TYPES: Final = (
    f"the types are {', '.join(TYPES)}; declare nested fields as STRING, or leave them out: they stay in value"
)


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    """One of TYPES."""


def parse(text: str) -> tuple[Column, ...]:
    """The columns of a schema, in its order."""
    try:
        declared = parse_ddl(text)
    except NotDdl as error:
        raise BadSchema(
            f"The schema {text!r} is wrong at character {error.position + 1}: {error}", f"{_EXAMPLE}; {_PLAIN_TYPES}"
        ) from error
    columns = []
    for each in declared:
        if str(each.type) not in TYPES:
            raise BadSchema(f"The column {each.name} of the schema is {each.type}", _PLAIN_TYPES)
        if not each.nullable or each.comment is not None:
            raise BadSchema(
                f"The column {each.name} of the schema has more than a name and a type",
                f"{_EXAMPLE}; a column is null where the value does not match",
            )
        columns.append(Column(each.name, str(each.type)))
    _check_names(columns)
    return tuple(columns)


def canonical(text: str) -> str:
    """The schema in its canonical spelling, for the manifest and for Spark."""
    return ", ".join(f"{quoted(column.name)} {column.type}" for column in parse(text))


def merged(schemas: Sequence[str]) -> tuple[Column, ...]:
    """The typed columns of all files, by name. The type of a name never changes."""
    found: dict[str, Column] = {}
    for schema in schemas:
        for column in parse(schema):
            other = found.setdefault(column.name, column)
            if other.type != column.type:
                raise BadSchema(
                    f"The column {column.name} is {other.type} in existing files, and now {column.type}",
                    "give the new column another name, or archive into another folder",
                )
    _check_names(list(found.values()))
    return tuple(found.values())


def _check_names(columns: Sequence[Column]) -> None:
    taken = {name.lower(): name for name in (*CONNECTOR_COLUMNS, ERROR_COLUMN)}
    for column in columns:
        if column.name.lower() in taken:
            other = taken[column.name.lower()]
            raise BadSchema(
                f"The schema has a column {column.name}, but there already is {other}",
                "leave it out; the names of the record's own columns cannot be used in any spelling: Spark and DuckDB "
                "ignore case",
            )
        taken[column.name.lower()] = column.name


@lru_cache(maxsize=64)
def arrow_fields(columns: tuple[Column, ...]) -> Any:
    """The Arrow schema of typed columns, the error column last."""
    import pyarrow as pa

    types = {
        "BOOLEAN": pa.bool_(),
        "TINYINT": pa.int8(),
        "SMALLINT": pa.int16(),
        "INT": pa.int32(),
        "BIGINT": pa.int64(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "STRING": pa.string(),
        "TIMESTAMP": pa.timestamp("us", tz="UTC"),
        "DATE": pa.date32(),
    }
    return pa.schema([*((column.name, types[column.type]) for column in columns), (ERROR_COLUMN, pa.string())])
