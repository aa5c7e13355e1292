"""The filters of a query that a source can use: conditions on topic, partition, offset and time. Pure functions.

Each filter is used completely, in part, or not at all. Completely: Spark need not apply it again. In part: it
narrows what is read, and Spark still applies it. These columns are never null, which decides the cases with
null: `partition IS NULL` and `partition <=> NULL` are true for no record, and so is `partition NOT IN (1, NULL)`.
"""

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

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

_LONG_MAX = 2**63 - 1

Test = Callable[[Any], bool]


@dataclass
class Predicate:
    """All filters so far, as one condition."""

    tests: list[tuple[str, Test]] = field(default_factory=list)
    """On topic and partition."""
    first_offset: int = 0
    end_offset: int = _LONG_MAX
    since_ms: int | None = None
    until_ms: int | None = None
    """Exclusive."""

    def wants(self, topic: str, partition: int) -> bool:
        return all(test(topic if column == "topic" else partition) for column, test in self.tests)

    def take(self, given: Filter) -> bool:
        """Whether the filter is used completely; if not, Spark must apply it, too."""
        column = _column(given)
        if column in ("topic", "partition"):
            test = _test(given, str if column == "topic" else int)
            if test is None:
                return False
            self.tests.append((column, test))
            return True
        if column == "offset":
            return self._take_offset(given)
        if column == "timestamp":
            return self._take_time(given)
        return False

    def _take_offset(self, given: Filter) -> bool:
        if isinstance(given, IsNotNull):
            return True
        if isinstance(given, IsNull):
            self.end_offset = 0
            return True
        if isinstance(given, In):
            offsets = [value for value in given.value if value is not None]
            if all(type(value) is int for value in offsets):
                self._between(min(offsets, default=0), max(offsets, default=-1) + 1)
            return False
        value = getattr(given, "value", None)
        if type(value) is not int:
            return False
        bounds = {
            EqualTo: (value, value + 1),
            EqualNullSafe: (value, value + 1),
            GreaterThan: (value + 1, _LONG_MAX),
            GreaterThanOrEqual: (value, _LONG_MAX),
            LessThan: (0, value),
            LessThanOrEqual: (0, value + 1),
        }.get(type(given))
        if bounds is None:
            return False
        self._between(*bounds)
        return True

    def _take_time(self, given: Filter) -> bool:
        if isinstance(given, IsNotNull):
            return True
        micros = _micros(getattr(given, "value", None))
        if micros is None:
            return False
        # Records have whole milliseconds: the first one at or after a time is at that time rounded up.
        up, down = -(-micros // 1000), micros // 1000
        bounds: tuple[int | None, int | None] | None = {
            EqualTo: (up, down + 1),
            EqualNullSafe: (up, down + 1),
            GreaterThan: (down + 1, None),
            GreaterThanOrEqual: (up, None),
            LessThan: (None, up),
            LessThanOrEqual: (None, down + 1),
        }.get(type(given))
        if bounds is None:
            return False
        since_ms, until_ms = bounds
        if since_ms is not None:
            self.since_ms = since_ms if self.since_ms is None else max(since_ms, self.since_ms)
        if until_ms is not None:
            self.until_ms = until_ms if self.until_ms is None else min(until_ms, self.until_ms)
        return True

    def _between(self, first: int, end: int) -> None:
        self.first_offset = max(self.first_offset, first)
        self.end_offset = min(self.end_offset, end)


def _column(given: Filter) -> str | None:
    """The one column that the filter is about."""
    inner = given.child if isinstance(given, Not) else given
    path: tuple[str, ...] = getattr(inner, "attribute", ())
    return path[0] if len(path) == 1 else None


def _test(given: Filter, kind: type) -> Test | None:
    """The filter as a function of a value that is not null; None if it is of an unknown kind."""
    if isinstance(given, Not):
        return _negated(given.child, kind)
    if isinstance(given, IsNull):
        return lambda _: False
    if isinstance(given, IsNotNull):
        return lambda _: True
    if isinstance(given, In):
        values = frozenset(value for value in given.value if value is not None)
        return values.__contains__ if all(type(value) is kind for value in values) else None
    value = getattr(given, "value", None)
    if isinstance(given, EqualNullSafe) and value is None:
        return lambda _: False
    if type(value) is not kind:
        return None
    return _comparison(given, value)


def _negated(child: Filter, kind: type) -> Test | None:
    if isinstance(child, In) and None in child.value:
        return lambda _: False
    test = _test(child, kind)
    return None if test is None else lambda value: not test(value)


def _comparison(given: Filter, value: Any) -> Test | None:
    tests: dict[type[Filter], Test] = {
        EqualTo: lambda other: other == value,
        EqualNullSafe: lambda other: other == value,
        GreaterThan: lambda other: other > value,
        GreaterThanOrEqual: lambda other: other >= value,
        LessThan: lambda other: other < value,
        LessThanOrEqual: lambda other: other <= value,
        StringStartsWith: lambda other: other.startswith(value),
        StringEndsWith: lambda other: other.endswith(value),
        StringContains: lambda other: value in other,
    }
    return tests.get(type(given))


def _micros(value: object) -> int | None:
    """Since 1970; None if it is not a point in time, such as a time without a zone."""
    if not isinstance(value, datetime.datetime) or value.tzinfo is None:
        return None
    return (value - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1)
