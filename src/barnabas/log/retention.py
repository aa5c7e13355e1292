"""Finds the segments to delete: below the log start offset, too old, or in excess of the size limit.

Only whole segments are deleted, oldest first, and none with offsets at or above the high watermark. The active segment
is deleted too if all its records are too old; the log then continues in a new one.
"""

from collections.abc import Callable

from barnabas.log.segment import Segment
from barnabas.log.segments import Segments
from barnabas.log.settings import LogSettings


def deletable_segments(
    segments: Segments,
    settings: LogSettings,
    *,
    log_start_offset: int,
    high_watermark: int,
    log_end_offset: int,
    now_ms: int,
) -> list[Segment]:
    """The segments to delete, oldest first. An empty active segment is never among them."""

    def run_from(first: int, is_deletable: Callable[[int, Segment], bool]) -> int:
        slot = first
        while slot < len(segments):
            segment = segments[slot]
            is_last = slot == len(segments) - 1
            if is_last and segment.size == 0:
                break
            if segments.end_offset_of(slot, log_end_offset) > high_watermark or not is_deletable(slot, segment):
                break
            slot += 1
        return slot

    count = run_from(
        0,
        lambda slot, _: slot + 1 < len(segments) and segments[slot + 1].base_offset <= log_start_offset,
    )
    if settings.delete and settings.retention_bytes >= 0:
        excess = segments.size - sum(segments[slot].size for slot in range(count)) - settings.retention_bytes

        def is_excess(_: int, segment: Segment) -> bool:
            nonlocal excess
            if excess < segment.size:
                return False
            excess -= segment.size
            return True

        count = run_from(count, is_excess)
    if settings.delete and settings.retention_ms >= 0:
        count = run_from(
            count,
            lambda _, segment: now_ms - segment.retention_timestamp() > settings.retention_ms,
        )
    return [segments[slot] for slot in range(count)]
