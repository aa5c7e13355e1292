"""Reads a whole log to find damage that no read has hit yet: bad sectors, edited files, lost writes."""

from collections.abc import Iterable

from barnabas.log.batch_scan import Damage
from barnabas.log.segment import Segment


def verify_segments(segments: Iterable[Segment]) -> list[Damage]:
    return [found for segment in segments for found in segment.scan() if isinstance(found, Damage)]
