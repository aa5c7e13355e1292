"""The value types of the share-partition interface."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
"""The acknowledge types. A gap is an offset without a record."""

THROTTLED_FROM_MIN: Final = 2


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """The limits of a group: its own configs, or the broker's."""

    delivery_count_limit: int = 5
    """share.delivery.count.limit"""
    record_locks_max: int = 2_000
    """share.partition.max.record.locks"""
    lock_duration_ms: int = 30_000
    """share.record.lock.duration.ms"""
    renew_enabled: bool = True
    """share.renew.acknowledge.enable"""

    @property
    def suspect_from(self) -> int:
        """A record that was delivered this often may be crashing its consumers: it is delivered in smaller batches."""
        return max(THROTTLED_FROM_MIN, -(-self.delivery_count_limit // 2))


class OffsetRange(NamedTuple):
    first: int
    last: int


class Acquired(NamedTuple):
    first: int
    last: int
    delivery_count: int


class Acknowledgement(NamedTuple):
    """One type for all offsets, or one for each."""

    first: int
    last: int
    types: Sequence[int]

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """(first, last, type) for offsets that share a type."""
        if len(self.types) == 1:
            yield self.first, self.last, self.types[0]
            return
        begin = 0
        for index in range(1, len(self.types) + 1):
            if index == len(self.types) or self.types[index] != self.types[begin]:
                yield self.first + begin, self.first + index - 1, self.types[begin]
                begin = index
