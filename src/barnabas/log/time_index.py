"""The time index: maps timestamps to offsets. Entries of (timestamp i64, relative offset i32).

An entry has the largest timestamp up to and including its offset. One is added along with each entry of the offset
index, unless there was no larger timestamp since the last, as timestamps strictly increase. The last entry, added when
the segment is sealed, has the segment's largest timestamp, so that retention and lookups need not read the segment.
"""

import struct
from array import array

from barnabas.log.index_file import SparseIndex, check_size

ENTRY = struct.Struct(">qi")


class TimeIndex(SparseIndex):
    """`lookup` and `last` give a timestamp and a relative offset, up to which no record has a larger timestamp."""

    __slots__ = ("timestamps",)

    ENTRY_BYTES = ENTRY.size

    def __init__(self) -> None:
        self.timestamps, offsets = array("q"), array("i")
        super().__init__(self.timestamps, offsets, offsets)

    @classmethod
    def load(cls, content: bytes) -> "TimeIndex":
        check_size(content, cls.ENTRY_BYTES)
        index = cls()
        if content:
            timestamps, offsets = zip(*ENTRY.iter_unpack(content), strict=True)
            index.timestamps.extend(timestamps)
            index.offsets.extend(offsets)
        index._was_loaded()
        return index

    def append(self, timestamp: int, relative_offset: int) -> None:
        if timestamp >= 0 and (not self.timestamps or timestamp > self.timestamps[-1]):
            self.timestamps.append(timestamp)
            self.offsets.append(relative_offset)
            self._dirty = True

    def _entries_from(self, first: int) -> bytes:
        return b"".join(map(ENTRY.pack, self.timestamps[first:], self.offsets[first:]))
