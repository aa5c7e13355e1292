"""A range of offsets in one partition."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """From `start` up to `end`, which is not in it."""

    topic: str
    partition: int
    start: int
    end: int
    topic_id: str | None = field(default=None, compare=False)
    """As it was when the range was planned: another one is another topic under the same name. None: not known."""
