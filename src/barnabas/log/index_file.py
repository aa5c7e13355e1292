"""The two sparse indexes: entries are in memory, and are appended to the file when a segment is sealed.

Kafka preallocates its index files and maps them into memory; ours simply grow. They are written when a segment is
rolled and when the log is closed, not on each append: after a crash, every segment that may lack entries is scanned
and its indexes are rebuilt anyway.
"""

from array import array
from bisect import bisect_left, bisect_right
from typing import ClassVar

from barnabas.env import Disk


class CorruptIndex(Exception):
    """The file cannot be this segment's index; rebuild it from the segment."""


class SparseIndex:
    """Two columns of numbers that increase: keys to look up, and values. One of them are offsets.

    Offsets are relative to the segment's base offset.
    """

    __slots__ = ("_dirty", "_keys", "_on_disk", "_values", "offsets")

    ENTRY_BYTES: ClassVar[int]

    def __init__(self, keys: "array[int]", values: "array[int]", offsets: "array[int]") -> None:
        self._keys = keys
        self._values = values
        self.offsets = offsets
        self._on_disk = 0
        """How many leading entries the file holds."""
        self._dirty = True
        """The file does not exist, lacks entries, or has too many."""

    def _was_loaded(self) -> None:
        self._on_disk = len(self.offsets)
        self._dirty = False
        check_increasing(self._keys)
        check_increasing(self._values)

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def size_bytes(self) -> int:
        return len(self.offsets) * self.ENTRY_BYTES

    def lookup(self, key: int) -> tuple[int, int]:
        """The last (key, value) at or below; (-1, 0), the segment's start, if there is none."""
        slot = bisect_right(self._keys, key) - 1
        return (self._keys[slot], self._values[slot]) if slot >= 0 else (-1, 0)

    def last(self) -> tuple[int, int]:
        return (self._keys[-1], self._values[-1]) if self._keys else (-1, 0)

    def truncate_to(self, relative_offset: int) -> None:
        """Drop entries at or after the offset."""
        count = bisect_left(self.offsets, relative_offset)
        if count < len(self.offsets):
            del self._keys[count:], self._values[count:]
            self._on_disk = min(self._on_disk, count)
            self._dirty = True

    def persist(self, disk: Disk, path: str) -> None:
        if not self._dirty:
            return
        first = self._on_disk
        write_entries(disk, path, position=first * self.ENTRY_BYTES, entries=self._entries_from(first))
        self._on_disk = len(self.offsets)
        self._dirty = False

    def _entries_from(self, first: int) -> bytes:
        raise NotImplementedError


def check_size(content: bytes, entry_bytes: int) -> None:
    if len(content) % entry_bytes:
        raise CorruptIndex(f"its size of {len(content)} bytes is not a multiple of {entry_bytes}")


def check_increasing(values: "array[int]") -> None:
    """Entries must not decrease. An index full of equal entries, like the zeros that a crash may leave, is corrupt."""
    numbers = values.tolist()
    if numbers and (numbers[0] < 0 or (len(numbers) > 1 and numbers[0] == numbers[-1]) or numbers != sorted(numbers)):
        raise CorruptIndex("entries are not in increasing order")


def write_entries(disk: Disk, path: str, *, position: int, entries: bytes) -> None:
    """Write `entries` at `position` and truncate the file after them."""
    file = disk.open(path, create=True)
    try:
        if entries:
            file.write_at(position, [entries])
        if file.size() != position + len(entries):
            file.truncate(position + len(entries))
    finally:
        file.close()
