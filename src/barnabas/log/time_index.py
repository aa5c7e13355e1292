"""The time index: maps timestamps to offsets. Entries of (timestamp i64, relative offset i32).

An entry has the largest timestamp up to and including its offset. One is added along with each entry of the offset
index, unless there was no larger timestamp since the last, as timestamps strictly increase. The last entry, added when
the segment is sealed, has the segment's largest timestamp, so that retention and lookups need not read the segment.
"""

import struct
from array import array
from bisect import bisect_left, bisect_right

from barnabas.env import Disk
from barnabas.log.index_file import CorruptIndex, check_increasing, write_entries

ENTRY = struct.Struct(">qi")
ENTRY_BYTES = ENTRY.size


class TimeIndex:
    __slots__ = ("_dirty", "_on_disk", "offsets", "timestamps")

    def __init__(self) -> None:
        self.timestamps = array("q")
        self.offsets = array("i")
        """Relative to the segment's base offset; increasing, as the timestamps are."""
        self._on_disk = 0
        self._dirty = True

    @classmethod
    def load(cls, content: bytes) -> "TimeIndex":
        if len(content) % ENTRY_BYTES:
            raise CorruptIndex(f"its size of {len(content)} bytes is not a multiple of {ENTRY_BYTES}")
        index = cls()
        if content:
            timestamps, offsets = zip(*ENTRY.iter_unpack(content), strict=True)
            index.timestamps.extend(timestamps)
            index.offsets.extend(offsets)
        index._on_disk = len(index.offsets)
        index._dirty = False
        check_increasing(index.timestamps)
        check_increasing(index.offsets)
        return index

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def size_bytes(self) -> int:
        return len(self.offsets) * ENTRY_BYTES

    def append(self, timestamp: int, relative_offset: int) -> None:
        if timestamp >= 0 and (not self.timestamps or timestamp > self.timestamps[-1]):
            self.timestamps.append(timestamp)
            self.offsets.append(relative_offset)
            self._dirty = True

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """The last (timestamp, relative offset) at or below `timestamp`; (-1, 0) if there is none.

        Up to that offset, no record has a larger timestamp.
        """
        slot = bisect_right(self.timestamps, timestamp) - 1
        return (self.timestamps[slot], self.offsets[slot]) if slot >= 0 else (-1, 0)

    def last(self) -> tuple[int, int]:
        """The largest timestamp and its relative offset; (-1, 0) when empty."""
        return (self.timestamps[-1], self.offsets[-1]) if self.timestamps else (-1, 0)

    def truncate_to(self, relative_offset: int) -> None:
        """Drop entries at or after the offset."""
        count = bisect_left(self.offsets, relative_offset)
        if count < len(self.offsets):
            del self.offsets[count:], self.timestamps[count:]
            self._on_disk = min(self._on_disk, count)
            self._dirty = True

    def persist(self, disk: Disk, path: str) -> None:
        if not self._dirty:
            return
        first = self._on_disk
        entries = b"".join(map(ENTRY.pack, self.timestamps[first:], self.offsets[first:]))
        write_entries(disk, path, position=first * ENTRY_BYTES, entries=entries)
        self._on_disk = len(self.offsets)
        self._dirty = False
