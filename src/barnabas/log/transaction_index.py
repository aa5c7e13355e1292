"""The transaction index of a segment, in Kafka's `.txnindex` format: aborted transactions with their marker in it.

    version i16 (0) | producer id i64 | first offset i64 | last offset i64 | last stable offset i64

The last offset is that of the marker; it increases from entry to entry. The last stable offset is the one right after
the marker: the first offset of the oldest open transaction, or the offset after the marker if none is open. No later
entry has offsets below it, so a search can stop there. A marker may come long after its records, so a search continues
in later segments until it finds such an entry.

The file exists only if the segment has aborted transactions.
"""

import struct
import sys
from array import array
from bisect import bisect_left
from operator import lt
from typing import Final, NamedTuple

from fastcrc.crc32 import iscsi

from barnabas.env import Disk
from barnabas.log.index_file import CorruptIndex, check_size, write_entries

VERSION: Final = 0
ENTRY: Final = struct.Struct(">hqqqq")
ENTRY_BYTES: Final = ENTRY.size


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    """Of the marker."""
    last_stable_offset: int


class TransactionIndex:
    __slots__ = ("_dirty", "_first_offsets", "_last_offsets", "_on_disk", "_producer_ids", "_stable_offsets")

    def __init__(self, *, replaces_file: bool = False) -> None:
        """`replaces_file`: there is a file, whose content is obsolete."""
        self._producer_ids = array("q")
        self._first_offsets = array("q")
        self._last_offsets = array("q")
        self._stable_offsets = array("q")
        self._on_disk = 0
        self._dirty = replaces_file

    @classmethod
    def load(cls, content: bytes, base_offset: int, *, checksum: bytes | None = None) -> "TransactionIndex":
        """`checksum`: the content of the checksum file, if any. Only the checksum reveals a wrong producer id."""
        if checksum is not None and checksum != _checksum(content):
            raise CorruptIndex("its checksum is wrong")
        check_size(content, ENTRY_BYTES)
        index = cls()
        if not content:
            return index
        # By column: there may be a hundred thousand entries, and this blocks the event loop.
        if any(content[::ENTRY_BYTES]) or any(content[1::ENTRY_BYTES]):
            raise CorruptIndex(f"not all entries have version {VERSION}")
        numbers = array(
            "q", b"".join([content[at + 2 : at + ENTRY_BYTES] for at in range(0, len(content), ENTRY_BYTES)])
        )
        if sys.byteorder == "little":
            numbers.byteswap()
        index._producer_ids, firsts, lasts, index._stable_offsets = (numbers[column::4] for column in range(4))
        if lasts[0] < base_offset or not all(map(lt, lasts, lasts[1:])):
            raise CorruptIndex(f"the last offsets do not increase from {base_offset} on")
        if min(firsts) < 0 or not all(map(lt, firsts, lasts)):
            raise CorruptIndex("a transaction ends before it begins")
        index._first_offsets, index._last_offsets = firsts, lasts
        index._on_disk = len(index)
        return index

    def __len__(self) -> int:
        return len(self._last_offsets)

    @property
    def size_bytes(self) -> int:
        return len(self) * ENTRY_BYTES

    def entries(self) -> list[AbortedTransaction]:
        return [self._entry(slot) for slot in range(len(self))]

    def _entry(self, slot: int) -> AbortedTransaction:
        return AbortedTransaction(
            self._producer_ids[slot], self._first_offsets[slot], self._last_offsets[slot], self._stable_offsets[slot]
        )

    def append(self, entry: AbortedTransaction) -> None:
        if self._last_offsets and entry.last_offset <= self._last_offsets[-1]:
            raise ValueError(f"{entry} does not follow offset {self._last_offsets[-1]}")
        self._dirty = True
        self._producer_ids.append(entry.producer_id)
        self._first_offsets.append(entry.first_offset)
        self._last_offsets.append(entry.last_offset)
        self._stable_offsets.append(entry.last_stable_offset)

    def collect(self, start_offset: int, end_offset: int, found: list[AbortedTransaction]) -> bool:
        """Add the transactions with offsets in `[start_offset, end_offset)`; True: later segments have none."""
        for slot in range(bisect_left(self._last_offsets, start_offset), len(self)):
            if self._first_offsets[slot] < end_offset:
                found.append(self._entry(slot))
            if self._stable_offsets[slot] >= end_offset:
                return True
        return False

    def truncate_to(self, offset: int) -> None:
        """Drop entries whose marker is at or after the offset."""
        count = bisect_left(self._last_offsets, offset)
        if count < len(self):
            for column in (self._producer_ids, self._first_offsets, self._last_offsets, self._stable_offsets):
                del column[count:]
            self._on_disk = min(self._on_disk, count)
            self._dirty = True

    def persist(self, disk: Disk, path: str, checksum_path: str) -> None:
        if not self._dirty:
            return
        content = b"".join(ENTRY.pack(VERSION, *self._entry(slot)) for slot in range(len(self)))
        first = self._on_disk * ENTRY_BYTES
        write_entries(disk, path, position=first, entries=content[first:])
        write_entries(disk, checksum_path, position=0, entries=_checksum(content))
        self._on_disk = len(self)
        self._dirty = False


def _checksum(content: bytes) -> bytes:
    return b"%08x\n" % iscsi(content)
