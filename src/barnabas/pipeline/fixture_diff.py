"""What is different between the rows that were expected and those that came, told so that a person sees it at once.

Order does not matter, how often a row is there does. Rows that are alike in most columns are shown as one row that
differs, the others as missing or not expected.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]

_PAIRED_MAX = 200
"""More rows than that are not compared with each other: it would take long, and nobody reads it."""
_SHOWN_MAX = 10


@dataclass(frozen=True)
class Difference:
    """Between one expected row and one that came; either may be missing."""

    expected: Row | None
    actual: Row | None

    def columns(self) -> list[str]:
        """Those whose values differ."""
        if self.expected is None or self.actual is None:
            return []
        return [name for name in self.expected if not _same(self.expected[name], self.actual.get(name))]


def compare(expected: Sequence[Row], actual: Sequence[Row]) -> list[Difference]:
    """Both must have the same columns. Empty: there is no difference."""
    left: dict[str, list[Row]] = {}
    for row in actual:
        left.setdefault(_key(row), []).append(row)
    missing: list[Row] = []
    for row in expected:
        same = left.get(_key(row))
        if same:
            same.pop()
        else:
            missing.append(row)
    extra = [row for rows in left.values() for row in rows]
    return _paired(missing, extra)


def _paired(missing: list[Row], extra: list[Row]) -> list[Difference]:
    candidates: list[tuple[int, int, int]] = []
    if len(missing) <= _PAIRED_MAX and len(extra) <= _PAIRED_MAX:
        for index, row in enumerate(missing):
            for other, found in enumerate(extra):
                alike = sum(_same(value, found.get(name)) for name, value in row.items())
                if alike and 2 * alike >= len(row):
                    candidates.append((-alike, index, other))
    pairs: dict[int, int] = {}
    for _, index, other in sorted(candidates):
        if index not in pairs and other not in pairs.values():
            pairs[index] = other
    taken = set(pairs.values())
    return [
        *(Difference(row, extra[pairs[index]] if index in pairs else None) for index, row in enumerate(missing)),
        *(Difference(None, row) for index, row in enumerate(extra) if index not in taken),
    ]


def told(what: str, differences: Sequence[Difference]) -> list[str]:
    """Lines for a person."""
    differing = sum(each.expected is not None and each.actual is not None for each in differences)
    missing = sum(each.actual is None for each in differences)
    extra = len(differences) - differing - missing
    said = ", ".join(
        f"{count} {one if count == 1 else several}"
        for count, one, several in (
            (differing, "row differs", "rows differ"),
            (missing, "is missing", "are missing"),
            (extra, "was not expected", "were not expected"),
        )
        if count
    )
    lines = [f"{what}: {said}"]
    for each in differences[:_SHOWN_MAX]:
        lines += _told(each)
    if len(differences) > _SHOWN_MAX:
        lines.append(f"  ... and {len(differences) - _SHOWN_MAX} more")
    return lines


def _told(difference: Difference) -> list[str]:
    expected, actual = difference.expected, difference.actual
    if expected is None or actual is None:
        word = "not expected" if expected is None else "missing"
        return [f"  {word}: {_text(actual if expected is None else expected)}"]
    columns = difference.columns()
    same = {name: value for name, value in expected.items() if name not in columns}
    width = max(map(len, columns))
    return [
        f"  differs: {_text(same)}",
        *(
            f"    {name.ljust(width)}  expected {_text(expected[name])}, came {_text(actual.get(name))}"
            for name in columns
        ),
    ]


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _same(one: object, other: object) -> bool:
    return _key(one) == _key(other)


def _key(value: object) -> str:
    """The same for numbers that differ in the last digits only: sums depend on their order there."""
    return json.dumps(_rounded(value), sort_keys=True)


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value
