"""Filters that reach the source: it drops only rows that Spark would drop, and all of them for filters it accepts."""

import datetime
import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from barnabas.spark.source.predicate import Predicate

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
COMPARISONS: dict[type[Filter], Any] = {
    EqualTo: operator.eq,
    EqualNullSafe: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
    StringStartsWith: str.startswith,
    StringEndsWith: str.endswith,
    StringContains: operator.contains,
}

moments = st.integers(-5000, 5000).map(lambda micros: EPOCH + datetime.timedelta(microseconds=micros))
VALUES = {
    "topic": st.sampled_from(["orders", "order", "ers", "payments", "o"]),
    "partition": st.integers(-1, 4),
    "offset": st.integers(-1, 6),
    "timestamp": moments,
}
ORDERED = (EqualTo, EqualNullSafe, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual)


@st.composite
def filters(draw: st.DrawFn) -> Filter:
    column = draw(st.sampled_from(sorted(VALUES)))
    values = VALUES[column]
    kinds = [*ORDERED, In, IsNull, IsNotNull]
    if column == "topic":
        kinds += [StringStartsWith, StringEndsWith, StringContains]
    kind = draw(st.sampled_from(kinds))
    found: Filter
    if kind is In:
        found = In((column,), tuple(draw(st.lists(st.one_of(st.none(), values), max_size=3))))
    elif kind in (IsNull, IsNotNull):
        found = kind((column,))
    else:
        found = kind((column,), draw(st.one_of(st.none(), values) if kind is EqualNullSafe else values))
    return Not(found) if draw(st.booleans()) else found


def holds(given_filter: Filter, row: dict[str, Any]) -> bool | None:
    """In SQL's three-valued logic: None is unknown."""
    if isinstance(given_filter, Not):
        inner = holds(given_filter.child, row)
        return None if inner is None else not inner
    value = row[given_filter.attribute[0]]  # type: ignore[attr-defined]
    if isinstance(given_filter, IsNull | IsNotNull):
        return isinstance(given_filter, IsNotNull)
    wanted = given_filter.value  # type: ignore[attr-defined]
    if isinstance(given_filter, In):
        return True if value in wanted else None if None in wanted else False
    if wanted is None:
        return False  # only <=> compares with null
    return bool(COMPARISONS[type(given_filter)](value, wanted))


rows = st.fixed_dictionaries(
    {
        "topic": VALUES["topic"],
        "partition": st.integers(0, 3),
        "offset": st.integers(0, 5),
        "timestamp": st.integers(-5, 5).map(lambda ms: EPOCH + datetime.timedelta(milliseconds=ms)),
    }
)


@given(conditions=st.lists(filters(), min_size=1, max_size=4), rows=st.lists(rows, min_size=1, max_size=20))
def test_source_and_spark_together_keep_what_sql_keeps(conditions: list[Filter], rows: list[dict[str, Any]]) -> None:
    predicate = Predicate()
    left = [condition for condition in conditions if not predicate.take(condition)]
    for row in rows:
        since_ms = (row["timestamp"] - EPOCH) // datetime.timedelta(milliseconds=1)
        read = (
            predicate.wants(row["topic"], row["partition"])
            and predicate.first_offset <= row["offset"] < predicate.end_offset
            and (predicate.since_ms is None or since_ms >= predicate.since_ms)
            and (predicate.until_ms is None or since_ms < predicate.until_ms)
        )
        kept = read and all(holds(condition, row) is True for condition in left)
        assert kept == all(holds(condition, row) is True for condition in conditions)


@pytest.mark.parametrize(
    "taken",
    [
        EqualTo(("partition",), 1),
        Not(In(("partition",), (1, 2))),
        StringStartsWith(("topic",), "ord"),
        GreaterThanOrEqual(("offset",), 5),
        LessThan(("timestamp",), EPOCH),
        IsNotNull(("offset",)),
    ],
)
def test_these_are_taken_whole(taken: Filter) -> None:
    assert Predicate().take(taken)


@pytest.mark.parametrize(
    "left",
    [
        EqualTo(("value",), b"x"),
        EqualTo(("headers", "key"), "x"),
        Not(EqualTo(("offset",), 5)),
        In(("offset",), (1, 2)),
        GreaterThan(("partition",), 1.5),
        EqualTo(("partition",), True),
        LessThan(("timestamp",), datetime.datetime(2026, 1, 1)),  # no zone: no moment
    ],
)
def test_these_are_left_to_spark(left: Filter) -> None:
    assert not Predicate().take(left)


def test_offsets_in_a_list_narrow_the_range_all_the_same() -> None:
    predicate = Predicate()
    predicate.take(In(("offset",), (7, 3, None)))
    assert (predicate.first_offset, predicate.end_offset) == (3, 8)
