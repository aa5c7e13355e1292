"""Finds batches in a segment by its sparse indexes, and handles indexes that do not match the batches.

An index entry is compared with the batch that it points to, and the headers of the batches from there on with each
other. If they are inconsistent, the batches from the last good position on are read and checked. Either that finds
damage, which is remembered; or the batches are valid and the index is wrong, so it is rebuilt.
"""

import logging
from collections.abc import Iterator
from typing import Final, NamedTuple

from barnabas.log.batch_scan import HEADER_WINDOW_BYTES, Damage, DamagedBatch, PlacedBatch
from barnabas.log.file_names import OFFSET_INDEX
from barnabas.log.index_file import CorruptIndex
from barnabas.log.segment_batches import SegmentBatches
from barnabas.log.segment_files import SegmentFiles
from barnabas.log.segment_indexes import SegmentIndexes
from barnabas.records.innermost import seek_batch
from barnabas.wire.errors import CorruptMessage

logger = logging.getLogger(__name__)

IndexEntry = tuple[int, int]
"""The relative offset of the last record in a batch, and the batch's position."""
START: Final[IndexEntry] = (-1, 0)
"""The beginning of the segment, for which there is no entry."""


class DamagedRecords(CorruptMessage):
    """The requested records are damaged. A retry does not help."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(f"{damage}; {damage.consequence}. Run `barnabas log verify {damage.path}` for details")
        self.damage = damage


class FoundBatch(NamedTuple):
    """The position of a batch, found by its header."""

    position: int
    size: int
    expected_offset: int | None
    """Its base offset if there is no gap before it; None: its position is already confirmed."""
    entry_before: IndexEntry = START
    """The last index entry for an earlier batch."""


class SegmentEnd(NamedTuple):
    next_offset: int
    """After the last valid batch."""
    damage: Damage | None
    """The damage after that batch, if any."""


class BatchFinder:
    __slots__ = ("_base_offset", "_batches", "_files", "_indexes")

    def __init__(self, files: SegmentFiles, batches: SegmentBatches, indexes: SegmentIndexes) -> None:
        self._files = files
        self._base_offset = files.base_offset
        self._batches = batches
        self._indexes = indexes

    def find(self, offset: int) -> FoundBatch | None:
        """The first batch that ends at or after `offset`, or None. Raises DamagedRecords if `offset` is damaged."""
        rebuilt = False
        while True:
            damage = self._batches.damage_of(offset)
            if damage is not None:
                raise DamagedRecords(damage)
            entry = self._indexes.offset_index().lookup(offset - self._base_offset)
            try:
                return self._find_quickly(offset, entry) or self._find_from(offset, entry)
            except DamagedBatch as error:
                if self._find_damage(entry):
                    continue
                if rebuilt:
                    raise
                logger.warning("%s; an index may be wrong: rebuilding the indexes", error)
                self._indexes.rebuild()
                rebuilt = True

    def _find_quickly(self, offset: int, entry: IndexEntry) -> FoundBatch | None:
        """None: there is no such batch, or a header is not plausible. `_find_from` knows the difference."""
        if self._batches.damages:
            return None
        relative, start = entry
        position, end, next_offset = start, self._batches.size, self._base_offset
        first_last_offset = -1 if entry == START else self._base_offset + relative
        while position < end:
            window = self._files.log.read_at(position, min(HEADER_WINDOW_BYTES, end - position))
            sought = seek_batch(window, end - position, first_last_offset, next_offset, offset)
            if sought is None:
                return None
            passed, size, next_offset = sought
            position += passed
            if size and position > start:
                return FoundBatch(position, size, next_offset, entry)
            if size:
                before = self._indexes.offset_index().lookup(relative - 1)
                return FoundBatch(position, size, self._base_offset if entry == START else None, before)
            if not passed:
                return None
            first_last_offset = -1
        return None

    def _find_from(self, offset: int, entry: IndexEntry) -> FoundBatch | None:
        relative, start = entry
        expected: int | None = self._base_offset if entry == START else None
        for at, header in self._batches.headers(start):
            if at == start and entry != START and header.last_offset != self._base_offset + relative:
                path = self._files.path(OFFSET_INDEX)
                raise DamagedBatch(path, at, f"its entry for {relative} points to another batch")
            if header.last_offset >= offset:
                expected = next((damage.next_offset for damage in self._batches.damages if damage.end == at), expected)
                before = entry if at > start else self._indexes.offset_index().lookup(relative - 1)
                return FoundBatch(at, header.size, expected, before)
            expected = header.next_offset
        return None

    def _find_damage(self, entry: IndexEntry) -> bool:
        """Look for damage from an index entry on; False: the entry is wrong, or there is no new damage."""
        if self._first_offset_at(entry) is None:
            return False
        known = self._batches.damages
        for found in self.scan_from(entry):
            if isinstance(found, PlacedBatch) and self._batches.damages != known:
                break
        return self._batches.damages != known

    def scan_from(self, entry: IndexEntry) -> Iterator[PlacedBatch | Damage]:
        """Like `SegmentBatches.scan`, from the batch of an index entry on; or from the start, if the entry is wrong."""
        next_offset = self._first_offset_at(entry)
        if next_offset is None:
            return self._batches.scan()
        return self._batches.scan(entry[1], next_offset=next_offset)

    def find_end(self) -> SegmentEnd:
        """How the segment ends. Scans and checks the batches from the last index entry on."""
        entry = self._indexes.offset_index().last()
        next_offset = self._first_offset_at(entry)
        if next_offset is None:
            logger.warning("the last entry of %s is wrong: rebuilding the indexes", self._files.path(OFFSET_INDEX))
            self._indexes.rebuild()
            entry, next_offset = START, self._base_offset
        damage: Damage | None = None
        for found in self._batches.scan(entry[1], next_offset=next_offset):
            if isinstance(found, Damage):
                damage = found
            else:
                damage, next_offset = None, found.batch.header.next_offset
        return SegmentEnd(next_offset, damage)

    def _first_offset_at(self, entry: IndexEntry) -> int | None:
        """The base offset of the batch at an index entry; None: there is no such batch, or it is damaged."""
        if entry == START:
            return self._base_offset
        relative, position = entry
        return self._batches.first_offset_at(position, self._base_offset + relative)

    # Timestamps

    def checked_largest_timestamp(self) -> int:
        """The largest timestamp by the time index, after comparing the entry with the batch that it points to."""
        indexes = self._indexes
        largest = indexes.largest_timestamp()
        if not indexes.is_time_checked:
            if not self._has_timestamp(largest, indexes.max_timestamp_offset):
                indexes.rebuild_because(CorruptIndex("its last entry does not match the batch"))
            indexes.is_time_checked = True
        return indexes.largest_timestamp()

    def relative_offset_before(self, timestamp: int) -> int:
        """A relative offset up to which no record has a larger timestamp than this."""
        found, relative = self._indexes.time_index().lookup(timestamp)
        if not self._has_timestamp(found, self._base_offset + relative):
            self._indexes.rebuild_because(CorruptIndex("an entry does not match the batch"))
            _, relative = self._indexes.time_index().lookup(timestamp)
        return relative

    def _has_timestamp(self, timestamp: int, offset: int) -> bool:
        """Whether the batch with this offset has this max timestamp."""
        if timestamp < 0:
            return True
        try:
            found = self.find(offset)
        except DamagedRecords:
            return True  # cannot be checked
        if found is None:
            return False
        _, header = next(self._batches.headers(found.position))
        return header.max_timestamp == timestamp and header.base_offset <= offset
