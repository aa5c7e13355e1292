"""A declared schema: the typed columns that JSON values are decoded to, written as in SQL: `id STRING, at TIMESTAMP`.

They are added to the connector's columns, so they cannot have the same names. Only plain types: nested fields stay in
`value`, or are declared STRING and come as JSON text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from barnabas.history.errors import BadSchema

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

_SYNONYMS: Final = {
    "BOOLEAN": "BOOLEAN",
    "BOOL": "BOOLEAN",
    "BYTE": "TINYINT",
    "TINYINT": "TINYINT",
    "SHORT": "SMALLINT",
    "SMALLINT": "SMALLINT",
    "INT": "INT",
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "BIGINT": "BIGINT",
    "FLOAT": "FLOAT",
    "REAL": "FLOAT",
    "DOUBLE": "DOUBLE",
    "STRING": "STRING",
    "TIMESTAMP": "TIMESTAMP",
    "DATE": "DATE",
}
_COLUMN: Final = re.compile(r"\s*(?:`([^`]+)`|([A-Za-z_][A-Za-z0-9_]*))(?:\s*:\s*|\s+)([A-Za-z]+)\s*")


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    """One of BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, TIMESTAMP, DATE."""


def parse(text: str) -> tuple[Column, ...]:
    """The columns of a schema, in its order."""
    columns: list[Column] = []
    for part in text.split(","):
        found = _COLUMN.fullmatch(part)
        if found is None:
            raise BadSchema(
                f"The schema has {part.strip()!r}, which is not a name and a plain type",
                f"write it like id STRING, at TIMESTAMP; the types are {', '.join(sorted(set(_SYNONYMS.values())))}; "
                "declare nested fields as STRING, or leave them out: they stay in value",
            )
        name, kind = found[1] or found[2], found[3].upper()
        if kind not in _SYNONYMS:
            raise BadSchema(
                f"The type {found[3]} of the column {name} is unknown",
                f"the types are {', '.join(sorted(set(_SYNONYMS.values())))}",
            )
        columns.append(Column(name, _SYNONYMS[kind]))
    _check_names(columns)
    return tuple(columns)


def canonical(text: str) -> str:
    """The schema in its canonical spelling, for the manifest and for Spark."""
    return ", ".join(f"`{column.name}` {column.type}" for column in parse(text))


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
