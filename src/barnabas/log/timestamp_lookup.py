"""Finds offsets by timestamp: the first record at or after a timestamp, and the record with the largest one.

The time index leads to a batch, and only that batch is decoded. An index entry is compared with its batch before it is
used. Damaged batches are skipped: they cannot be read anyway.
"""

from itertools import pairwise
from typing import Final, NamedTuple

from barnabas.log.batch_scan import PlacedBatch
from barnabas.log.segment import Segment
from barnabas.log.segments import Segments
from barnabas.records.record import decode_records

DECODED_BYTES_MAX: Final = 256 * 1024 * 1024
"""The limit for one decompressed batch: far above any that is accepted, well below the memory of a machine."""


class TimestampedOffset(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int


def first_at_or_after(segments: Segments, timestamp: int, *, start_offset: int) -> TimestampedOffset | None:
    """The first record from `start_offset` on with this timestamp or a later one."""
    for segment, following in pairwise((*segments, None)):
        assert segment is not None
        if segment.indexes.largest_timestamp() < timestamp:
            # Check the index of the last segment that is skipped: the result depends on it most.
            is_last = following is None or following.indexes.largest_timestamp() >= timestamp
            if not is_last or segment.finder.checked_largest_timestamp() < timestamp:
                continue
        found = _first_in(segment, timestamp, start_offset)
        if found is not None:
            return found
    return None


def _first_in(segment: Segment, timestamp: int, start_offset: int) -> TimestampedOffset | None:
    relative = max(segment.finder.relative_offset_before(timestamp), start_offset - segment.base_offset)
    for found in segment.finder.scan_from(segment.indexes.offset_index().lookup(relative)):
        if not isinstance(found, PlacedBatch):
            continue
        header = found.batch.header
        if header.max_timestamp < timestamp or header.last_offset < start_offset:
            continue
        for record in decode_records(found.batch, max_bytes=DECODED_BYTES_MAX):
            if record.timestamp >= timestamp and record.offset >= start_offset:
                return TimestampedOffset(record.timestamp, record.offset, header.leader_epoch)
    return None


def of_max_timestamp(segments: Segments) -> TimestampedOffset | None:
    newest = max(segments, key=lambda segment: segment.indexes.largest_timestamp())
    if newest.indexes.largest_timestamp() != newest.finder.checked_largest_timestamp():
        return of_max_timestamp(segments)
    largest = newest.indexes.largest_timestamp()
    if largest < 0:
        return None
    relative = newest.indexes.max_timestamp_offset - newest.base_offset
    for found in newest.finder.scan_from(newest.indexes.offset_index().lookup(relative)):
        if isinstance(found, PlacedBatch) and found.batch.header.max_timestamp == largest:
            for record in decode_records(found.batch, max_bytes=DECODED_BYTES_MAX):
                if record.timestamp == largest:
                    return TimestampedOffset(largest, record.offset, found.batch.header.leader_epoch)
    return None
