"""Reads an Avro schema far enough to know a source's columns and their types in Spark."""

import json
from collections.abc import Mapping

from barnabas.model.column_types import (
    BINARY,
    STRING,
    TIMESTAMP,
    Array,
    Column,
    Map,
    Primitive,
    Struct,
    Type,
    first_duplicate,
)
from barnabas.pipeline.project.schemas import Schema

_PRIMITIVES = {
    "boolean": Primitive("BOOLEAN"),
    "int": Primitive("INT"),
    "long": Primitive("BIGINT"),
    "float": Primitive("FLOAT"),
    "double": Primitive("DOUBLE"),
    "bytes": BINARY,
    "string": STRING,
}
_LOGICAL = {
    ("long", "timestamp-millis"): TIMESTAMP,
    ("long", "timestamp-micros"): TIMESTAMP,
    ("long", "local-timestamp-millis"): Primitive("TIMESTAMP_NTZ"),
    ("long", "local-timestamp-micros"): Primitive("TIMESTAMP_NTZ"),
    ("int", "date"): Primitive("DATE"),
}
_DEPTH_MAX = 50
_DECIMAL_MAX = 38


class NotAvro(ValueError):
    """What is wrong with the schema."""


def schema_of(text: str) -> Schema:
    try:
        declared = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotAvro(f"not JSON: {error}") from None
    found = _Types().read(declared, "", 0)
    if not isinstance(found, Struct):
        raise NotAvro("the top-level type must be a record: its fields become the columns")
    return Schema(found.fields, json.dumps(declared, separators=(",", ":")))


class _Types:
    def __init__(self) -> None:
        self._named: dict[str, Type | None] = {}
        """None: being read, so a use of it is recursive."""

    def read(self, declared: object, namespace: str, depth: int) -> Type:
        if depth > _DEPTH_MAX:
            raise NotAvro(f"types are nested more than {_DEPTH_MAX} deep")
        if isinstance(declared, str):
            return self._by_name(declared, namespace)
        if isinstance(declared, list):
            return self._union(declared, namespace, depth)
        if not isinstance(declared, dict):
            raise NotAvro(f"`{json.dumps(declared)}` is not a type")
        kind = declared.get("type")
        if kind in ("record", "error", "enum", "fixed"):
            return self._name_and_read(str(kind), declared, namespace, depth)
        if kind == "array":
            return Array(self.read(declared.get("items"), namespace, depth + 1))
        if kind == "map":
            return Map(STRING, self.read(declared.get("values"), namespace, depth + 1))
        if isinstance(kind, str) and kind in _PRIMITIVES:
            logical = declared.get("logicalType")
            if kind == "bytes" and logical == "decimal":
                return _decimal(declared)
            return _LOGICAL.get((kind, str(logical)), _PRIMITIVES[kind])
        return self.read(kind, namespace, depth + 1)

    def _by_name(self, name: str, namespace: str) -> Type:
        if name in _PRIMITIVES:
            return _PRIMITIVES[name]
        if name == "null":
            raise NotAvro("a column that is always null has no type")
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        full = full if full in self._named else name
        if full not in self._named:
            raise NotAvro(f"`{name}` is not a type, and no type of that name was defined before it")
        found = self._named[full]
        if found is None:
            raise NotAvro(f"`{name}` contains itself, which a column cannot")
        return found

    def _union(self, choices: list[object], namespace: str, depth: int) -> Type:
        rest = [choice for choice in choices if choice != "null"]
        if len(rest) != 1:
            raise NotAvro('a union of several types cannot be a column; only ["null", one type] can')
        return self.read(rest[0], namespace, depth + 1)

    def _name_and_read(self, kind: str, declared: Mapping[str, object], namespace: str, depth: int) -> Type:
        name = declared.get("name")
        if not isinstance(name, str) or not name:
            raise NotAvro(f"a {kind} type has no name")
        inner = declared.get("namespace", namespace)
        namespace = name.rpartition(".")[0] if "." in name else inner if isinstance(inner, str) else namespace
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        self._named[full] = None
        found: Type
        if kind == "enum":
            found = STRING
        elif kind == "fixed":
            found = _decimal(declared) if declared.get("logicalType") == "decimal" else BINARY
        else:
            found = Struct(self._fields(name, declared.get("fields"), namespace, depth))
        self._named[full] = found
        return found

    def _fields(self, record: str, declared: object, namespace: str, depth: int) -> tuple[Column, ...]:
        if not isinstance(declared, list):
            raise NotAvro(f"the record `{record}` has no list of fields")
        columns = []
        for field in declared:
            if not isinstance(field, dict) or not isinstance(field.get("name"), str) or "type" not in field:
                raise NotAvro(f"a field of the record `{record}` has no name or no type")
            try:
                found = self.read(field["type"], namespace, depth + 1)
            except NotAvro as error:
                raise NotAvro(f"field `{field['name']}`: {error}") from None
            columns.append(Column(field["name"], found))
        twice = first_duplicate(column.name for column in columns)
        if twice is not None:
            raise NotAvro(f"the record `{record}` has the field `{twice}` twice")
        return tuple(columns)


def _decimal(declared: Mapping[str, object]) -> Type:
    precision, scale = declared.get("precision"), declared.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision <= _DECIMAL_MAX:
        raise NotAvro(f"a decimal needs a precision of at most {_DECIMAL_MAX}, and a scale that is not larger")
    return Primitive("DECIMAL", (precision, scale))
