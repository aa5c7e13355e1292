"""Offsets by time: the first record at or after a timestamp, and the record with the largest one.

The time indexes lead to a batch; only that batch is decoded.
"""

from typing import Final, NamedTuple

from barnabas.log.segment import Segment
from barnabas.log.segments import Segments
from barnabas.records.batch import BatchHeader, read_batch
from barnabas.records.record import Record, decode_records

DECODED_BYTES_MAX: Final = 256 * 1024 * 1024
"""What one batch may decompress to: far above any batch that was admitted, well below the memory of a machine."""


class TimestampedOffset(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int


def first_at_or_after(segments: Segments, timestamp: int, *, start_offset: int) -> TimestampedOffset | None:
    """The first record with an offset from `start_offset` on whose timestamp is not below the one given."""
    for segment in segments:
        if segment.largest_timestamp() < timestamp:
            continue
        offset_index, time_index = segment.indexes()
        relative = max(time_index.lookup(timestamp), start_offset - segment.base_offset)
        _, position = offset_index.lookup(relative)
        for at, header in segment.headers(position):
            if header.max_timestamp < timestamp or header.last_offset < start_offset:
                continue
            for record in _records(segment, at, header):
                if record.timestamp >= timestamp and record.offset >= start_offset:
                    return TimestampedOffset(record.timestamp, record.offset, header.leader_epoch)
    return None


def of_max_timestamp(segments: Segments) -> TimestampedOffset | None:
    newest = max(segments, key=lambda segment: segment.largest_timestamp())
    largest = newest.largest_timestamp()
    if largest < 0:
        return None
    _, position = newest.offset_index().lookup(newest.max_timestamp_offset - newest.base_offset)
    for at, header in newest.headers(position):
        if header.max_timestamp == largest:
            for record in _records(newest, at, header):
                if record.timestamp == largest:
                    return TimestampedOffset(largest, record.offset, header.leader_epoch)
    return None


def _records(segment: Segment, position: int, header: BatchHeader) -> list[Record]:
    return decode_records(read_batch(segment.file.read_at(position, header.size)), max_bytes=DECODED_BYTES_MAX)
