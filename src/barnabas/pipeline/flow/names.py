"""Columns that exist on the way only, and what becomes of a row. No schema has names like these."""

PARSED = "__barnabas_parsed"
CORRUPT = "__barnabas_corrupt"
VALUE = "__barnabas_value"
"""The record's value as it came."""
MISFIT = "__barnabas_misfit"
"""Whether it does not fit its schema."""
FATE = "__barnabas_fate"
_RULE = "__barnabas_rule_"

KEPT, BROKE_SCHEMA, BROKE_RULE, DROPPED, LATE = "kept", "misfit", "dead", "dropped", "late"
"""What FATE says."""


def broken(rule: str) -> str:
    """The column that says whether a row breaks a rule."""
    return _RULE + rule


def quoted(name: str) -> str:
    """A column's name, whatever stands in it, for SQL and for `col`."""
    return f"`{name.replace('`', '``')}`"
