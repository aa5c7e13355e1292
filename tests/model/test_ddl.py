"""Schemas in Spark's DDL: the parsed columns, and the position of errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.model.column_types import PRIMITIVES, Array, Column, Map, Primitive, Struct, Type, to_ddl
from barnabas.model.ddl import NotDdl, parse_ddl

GOOD = {
    "a INT": "a INT",
    "a int, b Integer": "a INT, b INT",
    "a: long": "a BIGINT",
    "a STRING NOT NULL COMMENT 'it\\'s', b DOUBLE": "a STRING NOT NULL COMMENT 'it\\'s', b DOUBLE",
    "a DECIMAL, b DECIMAL(5), c NUMERIC(38,38)": "a DECIMAL(10, 0), b DECIMAL(5, 0), c DECIMAL(38, 38)",
    "a VARCHAR(10), b char(3)": "a VARCHAR(10), b CHAR(3)",
    "a ARRAY<ARRAY<INT>>": "a ARRAY<ARRAY<INT>>",
    "a MAP<STRING, ARRAY<DOUBLE>>": "a MAP<STRING, ARRAY<DOUBLE>>",
    "a STRUCT<x: INT, y STRING NOT NULL>": "a STRUCT<x: INT, y: STRING NOT NULL>",
    "a STRUCT<>": "a STRUCT<>",
    "`a b` INT, `c``d` DATE": "`a b` INT, `c``d` DATE",
    "from TIMESTAMP, to TIMESTAMP_NTZ,\n  x VARIANT": "from TIMESTAMP, to TIMESTAMP_NTZ, x VARIANT",
}


@pytest.mark.parametrize("text", GOOD)
def test_what_is_understood(text: str) -> None:
    assert to_ddl(parse_ddl(text)) == GOOD[text]
    assert parse_ddl(GOOD[text]) == parse_ddl(text)


BAD = {
    "": (0, "expected the name of a column, not the end"),
    "a": (1, "the column `a` has no type"),
    "a INT,": (6, "expected the name of a column, not the end"),
    "a INT b INT": (6, "expected a comma or the end, not `b`"),
    "a INTT": (2, "`INTT` is not a type that a schema can have"),
    "a ARRAY<INT": (11, "expected `>`, not the end"),
    "a ARRAY": (7, "expected `<`, not the end"),
    "a MAP<STRING>": (12, "expected `,`, not `>`"),
    "a STRUCT<x: INT": (15, "expected a comma or >, not the end"),
    "a INT, A STRING": (0, "the column `A` occurs twice"),
    "a INT NOT": (9, "expected NULL after NOT, not the end"),
    "a INT COMMENT x": (14, "expected a comment in quotes, not `x`"),
    "a VARCHAR": (2, "VARCHAR needs a length: VARCHAR(10)"),
    "a VARCHAR(x)": (10, "expected a number, not `x`"),
    "a-b INT": (1, "`-` has no meaning in a schema"),
    "a DECIMAL(39, 2)": (
        2,
        "DECIMAL(39, 2) is not valid: the precision is at most 38, and the scale at most the precision",
    ),
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_wrong_is_told_at_its_place(text: str) -> None:
    with pytest.raises(NotDdl) as caught:
        parse_ddl(text)
    assert (caught.value.position, str(caught.value)) == BAD[text]


def test_depth_is_bounded() -> None:
    with pytest.raises(NotDdl, match="nested more than 50 deep"):
        parse_ddl("a " + "ARRAY<" * 5000 + "INT" + ">" * 5000)


PLAIN = sorted({name for name in PRIMITIVES.values() if name not in ("DECIMAL", "CHAR", "VARCHAR")})
NAMES = st.text(min_size=1, max_size=6).filter(lambda name: not name.isspace())


def columns(types: st.SearchStrategy[Type]) -> st.SearchStrategy[tuple[Column, ...]]:
    column = st.builds(Column, NAMES, types, st.booleans(), st.none() | st.text(max_size=5))
    return st.lists(column, min_size=1, max_size=4, unique_by=lambda each: each.name.lower()).map(tuple)


TYPES: st.SearchStrategy[Type] = st.recursive(
    st.sampled_from(PLAIN).map(Primitive)
    | st.integers(1, 38).map(lambda digits: Primitive("DECIMAL", (digits, digits // 2))),
    lambda inner: st.builds(Array, inner) | st.builds(Map, inner, inner) | st.builds(Struct, columns(inner)),
    max_leaves=8,
)


@given(columns(TYPES))
def test_what_is_written_can_be_read(made: tuple[Column, ...]) -> None:
    assert parse_ddl(to_ddl(made)) == made


@given(st.text() | st.text(alphabet="aINT<>(),:` STRUCMPYNOL'\\1"))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_ddl(text)
    except NotDdl as error:
        position = error.position
    else:
        return
    assert 0 <= position <= len(text)
