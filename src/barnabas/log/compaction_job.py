"""What passes between the broker and the process that compacts: one job in, a line of JSON for each step out.

The job names sealed segments by base offset and size, so the worker reads nothing that the broker may still write.
Each `CleanedGroup` tells of one finished `.cleaned` segment, front to back; the broker swaps it in as soon as it
hears of it, so that a cleaning never needs more room than a segment. `Finished` ends a job that went well, `Failed`
one that did not.
"""

from msgspec import Struct

from barnabas.log.transaction_index import AbortedTransaction


class SourceSegment(Struct, frozen=True):
    base_offset: int
    size: int


class CompactionJob(Struct, frozen=True, kw_only=True):
    directory: str
    sources: list[SourceSegment]
    """Every sealed segment from the start of the log to the first that may not be cleaned yet, ascending."""
    first_dirty_offset: int
    """Below this, each key is known to have one record."""
    end_offset: int
    """The base offset of the first segment that is left alone."""
    last_offsets: dict[int, int]
    """By producer id: the last offset of its newest batch, which must survive with its sequence number."""
    marker_epochs: dict[int, int]
    """By id of a producer whose records are not known any more: its epoch, which must survive in a marker."""
    aborted: list[AbortedTransaction]
    """All that reach into the segments."""
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    map_bytes_max: int
    """Memory for the keys of the dirty section; if they are more, a part of it is cleaned."""
    io_bytes_per_second: float | None = None


class CleanedGroup(Struct, frozen=True, tag=True):
    sources: list[int]
    """Base offsets of the segments to replace; the cleaned one has the first of them."""
    size: int


class Finished(Struct, frozen=True, tag=True):
    end_offset: int
    """Where the next dirty section begins."""
    keys: int
    records_read: int
    records_kept: int
    bytes_read: int
    bytes_kept: int


class Failed(Struct, frozen=True, tag=True):
    reason: str


Step = CleanedGroup | Finished
Message = CleanedGroup | Finished | Failed
