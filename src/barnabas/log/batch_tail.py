"""Where the newest batches of the active segment are, so that reads at the tail need no lookup on disk."""

from bisect import bisect_left
from typing import Final

from barnabas.log.batch_finder import FoundBatch

BATCHES_MAX: Final = 1024
"""Enough for consumers at the tail; 16 KiB per log."""

NO_OFFSET: Final = 2**63


class BatchTail:
    __slots__ = ("last_offsets", "positions", "start_offset")

    def __init__(self) -> None:
        self.start_offset = NO_OFFSET
        """The batches below have all offsets from here on."""
        self.last_offsets: list[int] = []
        """Ascending, as are the positions; at most BATCHES_MAX."""
        self.positions: list[int] = []

    def restart(self, next_offset: int = NO_OFFSET) -> None:
        """Forget all batches; the next one begins at `next_offset`."""
        self.start_offset = next_offset
        self.last_offsets.clear()
        self.positions.clear()

    def drop_oldest(self) -> None:
        """Call it when there are more than BATCHES_MAX."""
        cut = BATCHES_MAX // 2
        self.start_offset = self.last_offsets[cut - 1] + 1
        del self.last_offsets[:cut], self.positions[:cut]

    def find(self, offset: int, size: int) -> FoundBatch | None:
        """The first batch that ends at or after `offset`, in a segment of this size."""
        positions = self.positions
        slot = bisect_left(self.last_offsets, offset)
        if slot == len(positions):
            return None
        position = positions[slot]
        end = positions[slot + 1] if slot + 1 < len(positions) else size
        return FoundBatch(position, end - position, None)

    def covers(self, position: int) -> bool:
        return bool(self.positions) and position >= self.positions[0]

    def upper_bound_offset(self, position: int) -> int | None:
        """The offset after all batches before `position`; None: it is at the end of the segment."""
        slot = bisect_left(self.positions, position)
        return self.last_offsets[slot - 1] + 1 if 0 < slot < len(self.positions) else None
