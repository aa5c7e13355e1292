"""The segments of a log in order of their base offsets; the last one is active."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from barnabas.log.batch_scan import RELATIVE_OFFSET_MAX
from barnabas.log.segment import Segment


def limit_offsets(segments: Sequence[Segment]) -> None:
    """Set the offset limit of each segment to the base offset of the next."""
    for segment, following in pairwise(segments):
        segment.offset_limit = following.base_offset
    if segments:
        segments[-1].offset_limit = segments[-1].base_offset + RELATIVE_OFFSET_MAX + 1


class Segments:
    __slots__ = ("_bases", "_segments", "active", "has_aborted", "sealed_bytes")

    def __init__(self, segments: Sequence[Segment]) -> None:
        """At least one: a log always has an active segment."""
        self._segments = list(segments)
        self._changed()

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

    def _changed(self) -> None:
        self._bases = [segment.base_offset for segment in self._segments]
        limit_offsets(self._segments)
        self.active = self._segments[-1]
        self.has_aborted = any(segment.has_aborted for segment in self._segments)
        self.sealed_bytes = sum(segment.size for segment in self._segments[:-1])
