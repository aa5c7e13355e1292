"""A range of offsets in one partition."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """From `start` up to `end`, exclusive."""

    topic: str
    partition: int
    start: int
    end: int
    topic_id: str | None = field(default=None, compare=False)
    """As it was when the range was planned: a different id is a different topic of the same name. None: unknown."""
