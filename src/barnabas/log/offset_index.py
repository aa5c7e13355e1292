"""The offset index: maps offsets to file positions. One entry per `index.interval.bytes`: (offset i32, position i32).

An entry has the relative last offset of the batch that starts at the position, as in Kafka. A lookup finds the last
entry at or below an offset; the batch with that offset is at this position or after it.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right

from barnabas.env import Disk
from barnabas.log.index_file import CorruptIndex, check_increasing, write_entries

ENTRY_BYTES = 8


class OffsetIndex:
    __slots__ = ("_dirty", "_on_disk", "offsets", "positions")

    def __init__(self) -> None:
        self.offsets = array("i")
        """Relative to the segment's base offset; strictly increasing, as are the positions."""
        self.positions = array("i")
        self._on_disk = 0
        """How many leading entries the file holds."""
        self._dirty = True
        """The file does not exist, lacks entries, or has too many."""

    @classmethod
    def load(cls, content: bytes) -> "OffsetIndex":
        if len(content) % ENTRY_BYTES:
            raise CorruptIndex(f"its size of {len(content)} bytes is not a multiple of {ENTRY_BYTES}")
        numbers = array("i", content)
        if sys.byteorder == "little":
            numbers.byteswap()
        index = cls()
        index.offsets = numbers[::2]
        index.positions = numbers[1::2]
        index._on_disk = len(index.offsets)
        index._dirty = False
        check_increasing(index.offsets)
        check_increasing(index.positions)
        return index

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def size_bytes(self) -> int:
        return len(self.offsets) * ENTRY_BYTES

    def append(self, relative_offset: int, position: int) -> None:
        if not self.offsets or relative_offset > self.offsets[-1]:
            self.offsets.append(relative_offset)
            self.positions.append(position)
            self._dirty = True

    def lookup(self, relative_offset: int) -> tuple[int, int]:
        """The last (relative offset, position) at or below; (-1, 0), the segment's start, if there is none."""
        slot = bisect_right(self.offsets, relative_offset) - 1
        return (self.offsets[slot], self.positions[slot]) if slot >= 0 else (-1, 0)

    def offset_at_or_after(self, position: int) -> int | None:
        """The relative offset of the first entry at or after `position`; None: there is none."""
        slot = bisect_left(self.positions, position)
        return self.offsets[slot] if slot < len(self.positions) else None

    def last(self) -> tuple[int, int]:
        return (self.offsets[-1], self.positions[-1]) if self.offsets else (-1, 0)

    def truncate_to(self, relative_offset: int) -> None:
        """Drop entries at or after the offset."""
        count = bisect_left(self.offsets, relative_offset)
        if count < len(self.offsets):
            del self.offsets[count:], self.positions[count:]
            self._on_disk = min(self._on_disk, count)
            self._dirty = True

    def persist(self, disk: Disk, path: str) -> None:
        if not self._dirty:
            return
        first = self._on_disk
        both = array("i", bytes((len(self.offsets) - first) * ENTRY_BYTES))
        both[::2] = self.offsets[first:]
        both[1::2] = self.positions[first:]
        if sys.byteorder == "little":
            both.byteswap()
        write_entries(disk, path, position=first * ENTRY_BYTES, entries=both.tobytes())
        self._on_disk = len(self.offsets)
        self._dirty = False
