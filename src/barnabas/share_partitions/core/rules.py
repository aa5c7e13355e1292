"""The settings of a share group: its own configs, or the broker's defaults."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from barnabas.share_partitions.core.terms import ShareLimits


class OffsetReset(NamedTuple):
    """Where a new group starts: share.auto.offset.reset."""

    strategy: str
    duration_ms: int = 0
    """For `by_duration`: how far back."""


LATEST: Final = OffsetReset("latest")
EARLIEST: Final = OffsetReset("earliest")
BY_DURATION: Final = "by_duration"


@dataclass(frozen=True, slots=True)
class ShareRules:
    limits: ShareLimits = field(default_factory=ShareLimits)
    offset_reset: OffsetReset = LATEST
    read_committed: bool = False
    """share.isolation.level"""
