"""The column types of Spark that a schema can have, and their text in Spark's DDL."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

PRIMITIVES = {
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "TINYINT",
    "BYTE": "TINYINT",
    "SMALLINT": "SMALLINT",
    "SHORT": "SMALLINT",
    "INT": "INT",
    "INTEGER": "INT",
    "BIGINT": "BIGINT",
    "LONG": "BIGINT",
    "FLOAT": "FLOAT",
    "REAL": "FLOAT",
    "DOUBLE": "DOUBLE",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMP_LTZ": "TIMESTAMP",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ",
    "STRING": "STRING",
    "BINARY": "BINARY",
    "DECIMAL": "DECIMAL",
    "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL",
    "CHAR": "CHAR",
    "CHARACTER": "CHAR",
    "VARCHAR": "VARCHAR",
    "VARIANT": "VARIANT",
}
"""Spark's names of types, and the one that we write."""

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Primitive:
    name: str
    arguments: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})" if self.arguments else self.name


@dataclass(frozen=True)
class Array:
    element: "Type"

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True)
class Map:
    key: "Type"
    value: "Type"

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True)
class Column:
    name: str
    type: "Type"
    nullable: bool = True
    comment: str | None = None

    def text(self, between: str = " ") -> str:
        name = self.name if _PLAIN_NAME.fullmatch(self.name) else quoted(self.name)
        text = f"{name}{between}{self.type}" + ("" if self.nullable else " NOT NULL")
        if self.comment is not None:
            escaped = self.comment.replace("\\", "\\\\").replace("'", "\\'")
            text += f" COMMENT '{escaped}'"
        return text


@dataclass(frozen=True)
class Struct:
    fields: tuple[Column, ...]

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(each.text(': ') for each in self.fields)}>"


Type = Primitive | Array | Map | Struct

STRING, BINARY, TIMESTAMP = Primitive("STRING"), Primitive("BINARY"), Primitive("TIMESTAMP")


def to_ddl(columns: Iterable[Column]) -> str:
    return ", ".join(column.text() for column in columns)


def quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def first_duplicate(names: Iterable[str]) -> str | None:
    """The first name that occurs a second time, ignoring case."""
    seen = set[str]()
    for name in names:
        if name.lower() in seen:
            return name
        seen.add(name.lower())
    return None
