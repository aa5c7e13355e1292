"""Reading a log whole to find damage that nobody asked for yet: bad sectors, edited files, lost writes."""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.log.batch_scan import DamagedBatch, scan_batches
from barnabas.log.segment import Segment


class Damage(NamedTuple):
    path: str
    position: int
    size: int
    """Bytes that cannot be served: the batch, or the rest of the segment if where the batch ends is not known."""
    next_offset: int
    """The offset that the damaged batch should begin with, or the first that exists after it."""
    reason: str


def verify_segments(segments: Sequence[Segment]) -> list[Damage]:
    return [damage for segment in segments for damage in _verify(segment)]


def _verify(segment: Segment) -> list[Damage]:
    damages = []
    position: int | None = 0
    next_offset = segment.base_offset
    while position is not None and position < segment.size:
        try:
            for _, batch in scan_batches(segment.file, position, segment.size, next_offset=next_offset):
                next_offset = batch.header.next_offset
            break
        except DamagedBatch as damage:
            position = damage.next_position
            end = segment.size if position is None else position
            damages.append(Damage(damage.path, damage.position, end - damage.position, next_offset, damage.reason))
    return damages
