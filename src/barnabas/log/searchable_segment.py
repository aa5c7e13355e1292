"""Finding batches in a segment by its sparse index, and what to do where the index and the batches disagree.

An index entry is compared with the batch that it points to, and the batches from there on with each other, by their
headers only. If something does not fit, the batches from the last good place on are read and checked. That finds the
damage, which is remembered; or the batches are valid and the index is wrong: then it is rebuilt.
"""

import logging
from collections.abc import Iterator
from typing import Final, NamedTuple

from barnabas.log.batch_scan import Damage, DamagedBatch, PlacedBatch, scan_batches
from barnabas.log.file_names import OFFSET_INDEX
from barnabas.log.index_file import CorruptIndex
from barnabas.log.indexed_segment import IndexedSegment
from barnabas.records.batch import BatchHeader
from barnabas.wire.errors import CorruptMessage

logger = logging.getLogger(__name__)

IndexEntry = tuple[int, int]
"""The relative offset of the last record in a batch, and the batch's position."""
START: Final[IndexEntry] = (-1, 0)
"""Stands for the beginning of the segment, for which there is no entry."""


class DamagedRecords(CorruptMessage):
    """What a reader wants cannot be read, and never will be from this file."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(f"{damage}; {damage.consequence}. Run `barnabas log verify {damage.path}` to see more")
        self.damage = damage


class FoundBatch(NamedTuple):
    """A batch, by its header."""

    position: int
    size: int
    expected_offset: int | None
    """Where it begins if no offset is missing before it; None: its place is known to be right."""
    entry_before: IndexEntry = START
    """The last index entry for an earlier batch."""


class SegmentEnd(NamedTuple):
    next_offset: int
    """After the last valid batch."""
    damage: Damage | None
    """What follows that batch."""


class SearchableSegment(IndexedSegment):
    __slots__ = ()

    def find(self, offset: int) -> FoundBatch | None:
        """The first batch that ends at or after `offset`; None: all end before. DamagedRecords: it cannot be read."""
        rebuilt = False
        while True:
            damage = self.damage_of(offset)
            if damage is not None:
                raise DamagedRecords(damage)
            entry = self.offset_index().lookup(offset - self.base_offset)
            try:
                return self._find_from(offset, entry)
            except DamagedBatch as error:
                if self._find_damage(entry):
                    continue
                if rebuilt:
                    raise
                logger.warning("%s; rebuilding the indexes, one of them may be wrong", error)
                self.rebuild_indexes()
                rebuilt = True

    def damage_of(self, offset: int) -> Damage | None:
        for damage in self.damages:
            if (
                damage.first_offset
                <= offset
                < (self.offset_limit if damage.next_offset is None else damage.next_offset)
            ):
                return damage
        return None

    def valid_end_after(self, position: int) -> int:
        """Where the next damage that is known begins; the segment's end if there is none from `position` on."""
        return next((damage.position for damage in self.damages if damage.position >= position), self.size)

    def _find_from(self, offset: int, entry: IndexEntry) -> FoundBatch | None:
        relative, start = entry
        expected: int | None = self.base_offset if entry == START else None
        for at, header in self.headers(start):
            if at == start and entry != START and header.last_offset != self.base_offset + relative:
                raise DamagedBatch(self.path(OFFSET_INDEX), at, f"its entry for {relative} points to another batch")
            if header.last_offset >= offset:
                expected = next((damage.next_offset for damage in self.damages if damage.end == at), expected)
                before = entry if at > start else self.offset_index().lookup(relative - 1)
                return FoundBatch(at, header.size, expected, before)
            expected = header.next_offset
        return None

    def _find_damage(self, entry: IndexEntry) -> bool:
        """Look for damage from an index entry on; False: the entry is wrong, or all that there is was known."""
        if self._first_offset_at(entry) is None:
            return False
        known = self.damages
        for found in self.scan_from(entry):
            if isinstance(found, PlacedBatch) and self.damages != known:
                break
        return self.damages != known

    def scan_from(self, entry: IndexEntry) -> Iterator[PlacedBatch | Damage]:
        """As `scan`, from the batch of an index entry on; or from the beginning, if the entry is wrong."""
        next_offset = self._first_offset_at(entry)
        if next_offset is None:
            return self.scan()
        return self.scan(entry[1], next_offset=next_offset)

    def valid_headers(self) -> list[BatchHeader]:
        """Of all batches. Unless something looks odd, their CRC is not checked."""
        try:
            return [header for _, header in self.headers()]
        except DamagedBatch:
            return [found.batch.header for found in self.batches()]

    # Times

    def checked_largest_timestamp(self) -> int:
        """As `largest_timestamp`, once the index entry that says it was compared with the batch that it names."""
        largest = self.largest_timestamp()
        if not self.is_time_checked:
            if not self._has_timestamp(largest, self.max_timestamp_offset):
                self._rebuild_because(CorruptIndex("its last entry names a timestamp that is not there"))
            self.is_time_checked = True
        return self.largest_timestamp()

    def relative_offset_before(self, timestamp: int) -> int:
        """One up to which every timestamp is at or below the one given."""
        found, relative = self.time_index().lookup(timestamp)
        if not self._has_timestamp(found, self.base_offset + relative):
            self._rebuild_because(CorruptIndex("an entry names a timestamp that is not there"))
            _, relative = self.time_index().lookup(timestamp)
        return relative

    def _has_timestamp(self, timestamp: int, offset: int) -> bool:
        """Whether the largest timestamp of the batch that holds the offset is this one."""
        if timestamp < 0:
            return True
        try:
            found = self.find(offset)
        except DamagedRecords:
            return True  # nobody can tell
        if found is None:
            return False
        _, header = next(self.headers(found.position))
        return header.max_timestamp == timestamp and header.base_offset <= offset

    # The end

    def find_end(self) -> SegmentEnd:
        """Where it ends, found from the last index entry on. The last batches are checked for it."""
        entry = self.offset_index().last()
        next_offset = self._first_offset_at(entry)
        if next_offset is None:
            logger.warning("the last entry of %s is wrong: rebuilding the indexes", self.path(OFFSET_INDEX))
            self.rebuild_indexes()
            entry, next_offset = START, self.base_offset
        damage: Damage | None = None
        for found in self.scan(entry[1], next_offset=next_offset):
            if isinstance(found, Damage):
                damage = found
            else:
                damage, next_offset = None, found.batch.header.next_offset
        return SegmentEnd(next_offset, damage)

    def _first_offset_at(self, entry: IndexEntry) -> int | None:
        """Of the batch that an index entry points to; None: it is not there, or it is damaged."""
        if entry == START:
            return self.base_offset
        relative, position = entry
        found = next(
            scan_batches(self.file, position, self.size, next_offset=self.base_offset, offset_limit=self.offset_limit),
            None,
        )
        if not isinstance(found, PlacedBatch) or found.batch.header.last_offset != self.base_offset + relative:
            return None
        return found.batch.header.base_offset
