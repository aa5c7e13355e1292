"""Names of intermediate columns, and the possible fates of a row. No schema has names like these."""

PARSED = "__barnabas_parsed"
CORRUPT = "__barnabas_corrupt"
VALUE = "__barnabas_value"
"""The original value of the record."""
MISFIT = "__barnabas_misfit"
"""Whether it does not match its schema."""
FATE = "__barnabas_fate"
_RULE = "__barnabas_rule_"

KEPT, BROKE_SCHEMA, BROKE_RULE, DROPPED, LATE = "kept", "misfit", "dead", "dropped", "late"
"""The values of FATE."""


def broken(rule: str) -> str:
    """The column that says whether a row breaks a rule."""
    return _RULE + rule


def quoted(name: str) -> str:
    """A column name, quoted for SQL and for `col`."""
    return f"`{name.replace('`', '``')}`"
