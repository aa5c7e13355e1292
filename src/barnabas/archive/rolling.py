"""When a file is full."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RollRules:
    bytes: int = 256 << 20
    """Of a file. Spark reads one in a few tasks, and a year of a busy partition is a few thousand of them."""
    rows: int = 10_000_000
    age_s: float = 600.0
    """With `--follow`, a file is finished when its first rows are this old, full or not."""
    memory_bytes: int = 256 << 20
    """Rows of all open files that are not on disk yet."""
