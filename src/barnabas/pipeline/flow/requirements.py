"""Requirements of a decoded row that Spark's decoders do not check.

They treat every column as nullable and ignore the length of texts. And some columns must not be null although the
schema allows it: a window drops rows without a time, and rows without an id would all be duplicates of each other.
"""

from collections.abc import Iterable

from barnabas.model.column_types import STRING, Array, Column, Map, Primitive, Struct, Type
from barnabas.pipeline.flow.names import quoted
from barnabas.pipeline.project.model import METADATA_COLUMNS, Source


def required_columns(source: Source) -> dict[str, str]:
    """Columns that must not be null, as the schema spells them, and why."""
    reasons: dict[str, list[str]] = {}

    def add(name: str, reason: str) -> None:
        column = source.schema.column(name)
        if column is not None and name not in METADATA_COLUMNS:
            reasons.setdefault(column.name, []).append(reason)

    for column in source.schema.columns:
        if not column.nullable:
            add(column.name, "the schema (NOT NULL)")
    for section, name in (("late", source.late), ("watermark", source.watermark)):
        if name is not None:
            add(name.column, f"`{section}`")
    for by in source.deduplicate.by if source.deduplicate else ():
        add(by, "`deduplicate`")
    return {name: " and ".join(found) for name, found in reasons.items()}


def violations(source: Source, row: str) -> list[str]:
    """SQL conditions that are true for a row (the expression `row`) that breaks a requirement."""
    required = required_columns(source)
    found = [f"{row}.{quoted(name)} IS NULL" for name in required]
    for column in source.schema.columns:
        inner = _broken_inside(f"{row}.{quoted(column.name)}", column.type, 0)
        if inner is not None:
            found.append(f"coalesce({inner}, false)")
    return found


def decodable(columns: Iterable[Column]) -> str:
    """The schema as Spark's decoders take it: they have no texts of limited length."""
    return ", ".join(Column(each.name, _decodable(each.type)).text() for each in columns)


def _decodable(type_: Type) -> Type:
    match type_:
        case Primitive("CHAR" | "VARCHAR"):
            return STRING
        case Primitive():
            return type_
        case Array(element):
            return Array(_decodable(element))
        case Map(key, value):
            return Map(_decodable(key), _decodable(value))
        case Struct(fields):
            return Struct(tuple(Column(each.name, _decodable(each.type)) for each in fields))


def _broken_inside(expression: str, type_: Type, depth: int) -> str | None:
    """The condition that something inside a value is missing or too long; null where the value is null."""
    match type_:
        case Primitive("CHAR" | "VARCHAR", (length,)):
            return f"length({expression}) > {length}"
        case Primitive():
            return None
        case Array(element) | Map(_, element):
            name = f"x{depth}"
            inner = _broken_inside(name, element, depth + 1)
            elements = expression if isinstance(type_, Array) else f"map_values({expression})"
            return None if inner is None else f"exists({elements}, {name} -> coalesce({inner}, false))"
        case Struct(fields):
            conditions = []
            for each in fields:
                place = f"{expression}.{quoted(each.name)}"
                inner = _broken_inside(place, each.type, depth)
                conditions += [] if each.nullable else [f"{place} IS NULL"]
                conditions += [] if inner is None else [f"coalesce({inner}, false)"]
            return f"({expression} IS NOT NULL AND ({' OR '.join(conditions)}))" if conditions else None
