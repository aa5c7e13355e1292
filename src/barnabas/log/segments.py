"""The segments of a log in order of their base offsets; the last one is active."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from barnabas.log.batch_finder import DamagedRecords, FoundBatch
from barnabas.log.batch_scan import RELATIVE_OFFSET_MAX, Damage
from barnabas.log.file_names import TXN_INDEX
from barnabas.log.index_file import CorruptIndex
from barnabas.log.segment import Segment
from barnabas.log.transaction_index import AbortedTransaction
from barnabas.records.batch import HEADER_SIZE
from barnabas.wire.errors import CorruptMessage


def limit_offsets(segments: Sequence[Segment]) -> None:
    """Set the offset limit of each segment to the base offset of the next."""
    for segment, following in pairwise(segments):
        segment.batches.offset_limit = following.base_offset
    if segments:
        segments[-1].batches.offset_limit = segments[-1].base_offset + RELATIVE_OFFSET_MAX + 1


class Segments:
    __slots__ = ("_bases", "_segments", "active", "has_aborted", "sealed_bytes")

    def __init__(self, segments: Sequence[Segment]) -> None:
        """At least one: a log always has an active segment."""
        self.reset(segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    def __getitem__(self, slot: int) -> Segment:
        return self._segments[slot]

    @property
    def size(self) -> int:
        return self.sealed_bytes + self.active.size

    def floor_slot(self, offset: int) -> int:
        """The slot of the last segment with a base offset at or below the offset; -1: it is before the first."""
        if offset >= self.active.base_offset:
            return len(self._segments) - 1
        return bisect_right(self._bases, offset) - 1

    def from_slot(self, slot: int) -> list[Segment]:
        return self._segments[slot:]

    def reset(self, segments: Sequence[Segment]) -> None:
        self._segments = list(segments)
        self._changed()

    def append(self, segment: Segment) -> None:
        self._segments.append(segment)
        self._changed()

    def remove(self, to_delete: Sequence[Segment]) -> None:
        self._segments = [segment for segment in self._segments if segment not in to_delete]
        self._changed()

    def replace(self, old: Sequence[Segment], new: Sequence[Segment]) -> None:
        first = self._segments.index(old[0])
        if self._segments[first : first + len(old)] != list(old):
            raise ValueError("the segments to replace are not adjacent segments of this log")
        self._segments[first : first + len(old)] = new
        self._changed()

    def end_offset_of(self, slot: int, log_end_offset: int) -> int:
        """All offsets in the segment are below this."""
        return self._bases[slot + 1] if slot + 1 < len(self._bases) else log_end_offset

    # Reading

    def find(self, offset: int, end_offset: int, log_end_offset: int) -> tuple[Segment, FoundBatch, int] | None:
        """The first batch with `offset` or a later one, and where the batches below `end_offset` end in its segment."""
        if offset >= end_offset:
            return None
        slot = self.floor_slot(offset)
        found: FoundBatch | None = None
        for candidate in range(slot, len(self._segments)):
            segment = self._segments[candidate]
            if segment.base_offset >= end_offset:
                break
            try:
                sought = segment.seek(offset)
            except DamagedRecords:
                if found is None:
                    raise
                break
            if sought is None:
                continue
            slot, found = candidate, sought
            # A segment may end in a batch that compaction emptied. Clients that get one empty batch after another might
            # conclude that a record is too large for their buffer, so such batches are skipped.
            if found.size > HEADER_SIZE or found.position + found.size < segment.size:
                break
        if found is None:
            return None
        segment = self._segments[slot]
        end = segment.batches.valid_end_after(found.position)
        if end_offset < self.end_offset_of(slot, log_end_offset):
            end = min(end, segment.position_of(end_offset))
        return segment, found, end

    def next_readable_offset(self, damage: Damage, log_end_offset: int) -> int:
        """The next offset after damage from which a reader can continue."""
        if damage.next_offset is not None:
            return damage.next_offset
        return next((base for base in self._bases if base > damage.first_offset), log_end_offset)

    def aborted_between(self, start_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Aborted transactions with offsets in `[start_offset, end_offset)`."""
        found: list[AbortedTransaction] = []
        for segment in self._segments[max(self.floor_slot(start_offset), 0) :]:
            indexes = segment.indexes
            try:
                if indexes.has_aborted and indexes.transaction_index().collect(start_offset, end_offset, found):
                    break
            except CorruptIndex as error:
                raise CorruptMessage(
                    f"{segment.path(TXN_INDEX)} is damaged ({error}). "
                    "Restart the broker, which rebuilds it from the batches"
                ) from error
        return found

    def _changed(self) -> None:
        self._bases = [segment.base_offset for segment in self._segments]
        limit_offsets(self._segments)
        self.active = self._segments[-1]
        self.has_aborted = any(segment.indexes.has_aborted for segment in self._segments)
        self.sealed_bytes = sum(segment.size for segment in self._segments[:-1])
