"""The counts that Spark takes while rows pass, and their names in the progress of a query.

Spark reports them with each batch (`progress.observedMetrics`), one row for each source and for each flow with rules. A
source that several queries read is counted by each of them: use the counts of one query, do not add up queries.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ROWS = "rows"
"""Records of a source; rows of a flow."""
MISFITS = "misfits"
"""Records that do not match the schema. Only of sources."""
DEAD = "dead"
"""Dead letters: misfits, and rows that break a rule with `otherwise: dead-letter`."""
DROPPED = "dropped"
"""Rows that break a rule with `otherwise: drop`, and no stricter one."""
LATE = "late"
"""Rows that break no rule, but came too late. Only of sources."""

_RULE = "rule_"


def rule_column(rule: str) -> str:
    """Rows that match the schema and break this rule, whatever happens to them."""
    return _RULE + rule


@dataclass(frozen=True)
class Counts:
    """Of one source or flow in one batch; add them up for more."""

    rows: int = 0
    misfits: int = 0
    dead: int = 0
    dropped: int = 0
    late: int = 0
    rules: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: "Counts") -> "Counts":
        names = {**self.rules, **other.rules}
        return Counts(
            self.rows + other.rows,
            self.misfits + other.misfits,
            self.dead + other.dead,
            self.dropped + other.dropped,
            self.late + other.late,
            {name: self.rules.get(name, 0) + other.rules.get(name, 0) for name in names},
        )


def counts_of(observed: Mapping[str, Any]) -> Counts:
    """From one value of `observedMetrics`, as a mapping (`row.asDict()`). Empty batches have nulls."""

    def number(name: str) -> int:
        return int(observed.get(name) or 0)

    rules = {name.removeprefix(_RULE): number(name) for name in observed if name.startswith(_RULE)}
    return Counts(number(ROWS), number(MISFITS), number(DEAD), number(DROPPED), number(LATE), rules)
