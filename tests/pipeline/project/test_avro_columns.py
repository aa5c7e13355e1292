"""Avro schemas become columns of Spark."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.project.avro import NotAvro, schema_of


def record(*fields: object, **more: object) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": list(fields), **more})


def field(type_: object, name: str = "a") -> dict[str, object]:
    return {"name": name, "type": type_}


TYPES = {
    '"string"': "STRING",
    '"long"': "BIGINT",
    '["null", "double"]': "DOUBLE",
    '{"type": "long", "logicalType": "timestamp-millis"}': "TIMESTAMP",
    '["null", {"type": "long", "logicalType": "timestamp-micros"}]': "TIMESTAMP",
    '{"type": "int", "logicalType": "date"}': "DATE",
    '{"type": "int", "logicalType": "time-millis"}': "INT",
    '{"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}': "DECIMAL(10, 2)",
    '{"type": "fixed", "name": "F", "size": 16}': "BINARY",
    '{"type": "enum", "name": "E", "symbols": ["x"]}': "STRING",
    '{"type": "array", "items": ["null", "int"]}': "ARRAY<INT>",
    '{"type": "map", "values": "bytes"}': "MAP<STRING, BINARY>",
    '{"type": "record", "name": "I", "fields": [{"name": "x", "type": "boolean"}]}': "STRUCT<x: BOOLEAN>",
    '{"type": {"type": "string"}}': "STRING",
}


@pytest.mark.parametrize("type_", TYPES)
def test_types(type_: str) -> None:
    schema = schema_of(record(field(json.loads(type_))))
    assert schema.ddl == f"a {TYPES[type_]}"
    assert schema.avro is not None
    assert json.loads(schema.avro)["name"] == "R"


def test_a_type_can_be_named_and_used_again() -> None:
    point = {"type": "record", "name": "Point", "fields": [field("int", "x")]}
    text = record(field(point, "p"), field("Point", "q"), field("org.x.Point", "r"), namespace="org.x")
    assert schema_of(text).ddl == ", ".join(f"{name} STRUCT<x: INT>" for name in "pqr")


WRONG = {
    "{": "not JSON",
    '"string"': "the top-level type must be a record",
    record(field(["int", "string"])): "field `a`: a union of several types cannot be a column",
    record(field("null")): "field `a`: a column that is always null has no type",
    record(field("R")): "field `a`: `R` contains itself, which a column cannot",
    record({"name": "a"}): "a field of the record `R` has no name or no type",
    record(field("int"), field("int", "A")): "the record `R` has the field `A` twice",
    '{"type": "record", "fields": []}': "a record type has no name",
    '{"type": "record", "name": "R"}': "the record `R` has no list of fields",
    record(field({"type": "bytes", "logicalType": "decimal"})): "field `a`: a decimal needs a precision",
    record(field(7)): "field `a`: `7` is not a type",
    "[" * 100_000: "not JSON",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:60])
def test_what_is_wrong(text: str) -> None:
    with pytest.raises(NotAvro) as caught:
        schema_of(text)
    assert str(caught.value).startswith(WRONG[text])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["string", "record", "R", "fixed", "decimal", "null"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "name", "fields", "items", "values", "logicalType"]), inner)
    ),
)


@given(JSON)
def test_any_json_is_read_or_refused(value: object) -> None:
    try:
        schema_of(json.dumps(value))
    except NotAvro:
        return
