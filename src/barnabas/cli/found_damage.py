"""A row of `barnabas log verify`."""

from typing import NamedTuple


class FoundDamage(NamedTuple):
    file: str
    position: int
    bytes: int
    """0: unknown."""
    reason: str
    offset: int | None = None
    """In a segment: the first offset that cannot be read."""
    next_offset: int | None = None
    """The next readable offset in the same segment."""
