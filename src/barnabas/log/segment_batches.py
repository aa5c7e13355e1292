"""The batches in a segment's `.log`, and the damage between them.

Damage that is found is remembered, and skipped from then on. The damaged bytes stay in the file.
"""

from collections.abc import Iterator

from barnabas.log.batch_scan import (
    RELATIVE_OFFSET_MAX,
    Damage,
    DamagedBatch,
    PlacedBatch,
    scan_batches,
    scan_headers,
)
from barnabas.log.segment_files import SegmentFiles
from barnabas.records.batch import BatchHeader


class SegmentBatches:
    __slots__ = ("_files", "base_offset", "damages", "offset_limit", "size")

    def __init__(self, files: SegmentFiles, size: int) -> None:
        self._files = files
        self.base_offset = files.base_offset
        self.size = size
        """Of the file in bytes, without a torn write at its end."""
        self.offset_limit = self.base_offset + RELATIVE_OFFSET_MAX + 1
        """All offsets are below: the base offset of the next segment, if there is one."""
        self.damages: tuple[Damage, ...] = ()
        """The known damage, in order of position."""

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of the batches from `position` on, without checking their CRC.

        Known damage is skipped. Raises DamagedBatch if there is more.
        """
        next_offset = self.base_offset
        for damage in (*(each for each in self.damages if each.end > position), None):
            end = self.size if damage is None else damage.position
            for at, header in scan_headers(self._files.log, position, end, next_offset=next_offset):
                next_offset = header.next_offset
                yield at, header
            if damage is not None:
                position = damage.end

    def scan(self, position: int = 0, *, next_offset: int | None = None) -> Iterator[PlacedBatch | Damage]:
        """Every batch from `position` on, checked, and the damage between them, which is remembered."""
        for found in scan_batches(
            self._files.log,
            position,
            self.size,
            next_offset=self.base_offset if next_offset is None else next_offset,
            offset_limit=self.offset_limit,
        ):
            if isinstance(found, Damage):
                self.remember_damage(found)
            yield found

    def valid(self, position: int = 0) -> Iterator[PlacedBatch]:
        """Like `scan`, but only the valid batches."""
        return (found for found in self.scan(position) if isinstance(found, PlacedBatch))

    def first_header(self) -> BatchHeader | None:
        """The header of the first valid batch; None: there is none."""
        try:
            return next((header for _, header in self.headers()), None)
        except DamagedBatch:
            return next((found.batch.header for found in self.valid()), None)

    def valid_headers(self) -> list[BatchHeader]:
        """The headers of all valid batches. Their CRC is checked only if a header looks wrong."""
        try:
            return [header for _, header in self.headers()]
        except DamagedBatch:
            return [found.batch.header for found in self.valid()]

    def first_offset_at(self, position: int, last_offset: int) -> int | None:
        """The base offset of the batch at `position`; None: it is damaged, or has another last offset."""
        found = next(
            scan_batches(
                self._files.log, position, self.size, next_offset=self.base_offset, offset_limit=self.offset_limit
            ),
            None,
        )
        if not isinstance(found, PlacedBatch) or found.batch.header.last_offset != last_offset:
            return None
        return found.batch.header.base_offset

    # Damage

    def remember_damage(self, damage: Damage) -> None:
        """Workers may call it at the same time: at worst, damage is forgotten and found again."""
        if damage not in self.damages:
            apart = [known for known in self.damages if known.end <= damage.position or known.position >= damage.end]
            self.damages = tuple(sorted([*apart, damage], key=lambda each: each.position))

    def damage_of(self, offset: int) -> Damage | None:
        for damage in self.damages:
            end_offset = self.offset_limit if damage.next_offset is None else damage.next_offset
            if damage.first_offset <= offset < end_offset:
                return damage
        return None

    def valid_end_after(self, position: int) -> int:
        """The position of the next known damage from `position` on; the segment's end if there is none."""
        for damage in self.damages:
            if damage.position >= position:
                return damage.position
        return self.size

    def truncate(self, position: int) -> None:
        """Drop the bytes from `position` on, and the damage known in them."""
        if position < self.size:
            self._files.log.truncate(position)
            self.size = position
        self.damages = tuple(damage for damage in self.damages if damage.end <= position)
