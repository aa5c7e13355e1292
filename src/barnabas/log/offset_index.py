"""The offset index: maps offsets to file positions. One entry per `index.interval.bytes`: (offset i32, position i32).

An entry has the relative last offset of the batch that starts at the position, as in Kafka. A lookup finds the last
entry at or below an offset; the batch with that offset is at this position or after it.
"""

import sys
from array import array
from bisect import bisect_left

from barnabas.log.index_file import SparseIndex, check_size


class OffsetIndex(SparseIndex):
    """`lookup` and `last` give a relative offset and a position."""

    __slots__ = ("positions",)

    ENTRY_BYTES = 8

    def __init__(self, numbers: "array[int] | None" = None) -> None:
        """`numbers`: offset and position of each entry."""
        self.positions = array("i") if numbers is None else numbers[1::2]
        offsets = array("i") if numbers is None else numbers[::2]
        super().__init__(offsets, self.positions, offsets)

    @classmethod
    def load(cls, content: bytes) -> "OffsetIndex":
        check_size(content, cls.ENTRY_BYTES)
        numbers = array("i", content)
        if sys.byteorder == "little":
            numbers.byteswap()
        index = cls(numbers)
        index._was_loaded()
        return index

    def append(self, relative_offset: int, position: int) -> None:
        if not self.offsets or relative_offset > self.offsets[-1]:
            self.offsets.append(relative_offset)
            self.positions.append(position)
            self._dirty = True

    def offset_at_or_after(self, position: int) -> int | None:
        """The relative offset of the first entry at or after `position`; None: there is none."""
        slot = bisect_left(self.positions, position)
        return self.offsets[slot] if slot < len(self.positions) else None

    def _entries_from(self, first: int) -> bytes:
        both = array("i", bytes((len(self.offsets) - first) * self.ENTRY_BYTES))
        both[::2] = self.offsets[first:]
        both[1::2] = self.positions[first:]
        if sys.byteorder == "little":
            both.byteswap()
        return both.tobytes()
