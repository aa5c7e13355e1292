"""Typed columns: the fast decoder and the plain one must give the same values."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.history import decode as decoding
from barnabas.history.declared import ERROR_COLUMN, arrow_fields, canonical, merged, parse
from barnabas.history.errors import BadSchema

COLUMNS = parse("b BOOLEAN, i INT, l BIGINT, d DOUBLE, s STRING, t TIMESTAMP, day DATE")


def decoded(*values: bytes | None, columns: Any = COLUMNS) -> list[dict[str, Any]]:
    return list(decoding.decode(pa.array(values, pa.binary()), columns).to_pylist())


def test_a_plain_batch_is_decoded_at_once() -> None:
    value = {
        "b": True,
        "i": 1,
        "l": 1 << 40,
        "d": 0.5,
        "s": "ä",
        "t": "2026-01-02T03:04:05.25+01:00",
        "day": "2026-01-02",
    }
    values = pa.array([json.dumps(value).encode()] * 3, pa.binary())
    fast = decoding._all_at_once(values, COLUMNS, arrow_fields(COLUMNS))
    assert fast is not None
    assert fast.equals(decoding._one_by_one(values, COLUMNS, arrow_fields(COLUMNS)))
    assert fast.to_pylist()[0]["t"].isoformat() == "2026-01-02T02:04:05.250000+00:00"


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(),
    st.text(),
    st.sampled_from(["2026-01-02", "2026-01-02T03:04:05Z", "2026-01-02 03:04:05", "NaN", "1", "true", ""]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from("ab"), st.integers(), max_size=2),
)
OBJECTS = st.dictionaries(st.sampled_from(["b", "i", "l", "d", "s", "t", "day", "other"]), SCALARS)
TEXTS = st.one_of(
    OBJECTS.map(lambda value: json.dumps(value).encode()),
    st.sampled_from(
        [None, b"", b" ", b"{", b"}", b"{}", b'{"s":', b'{"s":1}}', b'{"i":1}{"i":2}', b"[1]", b"\xff", b"{}\n{}"]
    ),
    st.binary(max_size=6),
)


@given(st.lists(TEXTS, max_size=100))
def test_both_ways_say_the_same_and_no_row_is_lost_or_moved(values: list[bytes | None]) -> None:
    array = pa.array(values, pa.binary())
    whole = decoding.decode(array, COLUMNS)
    assert whole.num_rows == len(values)
    careful = decoding._one_by_one(array, COLUMNS, arrow_fields(COLUMNS))
    assert repr(whole.to_pylist()) == repr(careful.to_pylist())  # NaN is itself


def test_what_does_not_fit_is_null_and_said() -> None:
    rows = decoded(
        b'{"i": "x", "s": "kept"}', b"no", b"[1]", None, b'{"i": 3000000000}', b'{"d": "NaN", "s": {"a": 1}}'
    )
    assert rows[0] | {ERROR_COLUMN: None} == dict.fromkeys(arrow_fields(COLUMNS).names) | {"s": "kept"}
    assert rows[0][ERROR_COLUMN] == 'i: "x" is not of the type INT'
    assert rows[1][ERROR_COLUMN].startswith("not JSON")
    assert rows[2][ERROR_COLUMN] == "not a JSON object, but an array"
    assert rows[3] == dict.fromkeys(arrow_fields(COLUMNS).names)
    assert "not of the type INT" in rows[4][ERROR_COLUMN]
    assert (str(rows[5]["d"]), rows[5]["s"], rows[5][ERROR_COLUMN]) == ("nan", '{"a":1}', None)


def test_times_without_a_zone_are_utc_and_numbers_are_seconds() -> None:
    rows = decoded(b'{"t": "2026-01-02T03:04:05"}', b'{"t": 1}', b'{"t": "soon"}')
    assert rows[0]["t"].isoformat() == "2026-01-02T03:04:05+00:00"
    assert rows[1]["t"].timestamp() == 1
    assert rows[2]["t"] is None


def test_a_schema_has_one_spelling() -> None:
    assert canonical(" id string,`a b` integer , x: long") == "`id` STRING, `a b` INT, `x` BIGINT"
    assert canonical(canonical("id string")) == "`id` STRING"
    assert canonical("`a``b, c` real") == "`a``b, c` FLOAT"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "character 1: expected the name of a column"),
        ("id", "character 3: the column `id` has no type"),
        ("id STRING,", "character 11: expected the name of a column"),
        ("id UUID", "character 4: `UUID` is not a type"),
        ("xs ARRAY<INT>", "column xs of the schema is ARRAY<INT>"),
        ("x DECIMAL(5, 2)", r"is DECIMAL\(5, 2\)"),
        ("id STRING NOT NULL", "more than a name and a type"),
        ("id STRING COMMENT 'x'", "more than a name and a type"),
        ("Value STRING", "there already is value"),
        ("decode_error STRING", "there already"),
        ("a INT, A INT", "`A` occurs twice"),
    ],
)
def test_schemas_that_cannot_be_are_refused(text: str, said: str) -> None:
    with pytest.raises(BadSchema, match=said):
        parse(text)


def test_a_name_keeps_its_type() -> None:
    assert [column.name for column in merged(["a INT", "b INT, a INT", "c STRING"])] == ["a", "b", "c"]
    with pytest.raises(BadSchema, match="is INT in existing files"):
        merged(["a INT", "a BIGINT"])
