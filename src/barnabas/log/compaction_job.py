"""Messages between the broker and the compaction worker: the broker sends a job, the worker a line of JSON per step.

The job names sealed segments by base offset and size, so the worker reads nothing that the broker may still write.
Each `CleanedGroup` reports one finished `.cleaned` segment, in order of offsets; the broker swaps it in at once, so
that compaction never needs more extra space than a segment. `Finished` ends a successful job, `Failed` one that failed.
"""

from msgspec import Struct

from barnabas.log.transaction_index import AbortedTransaction


class SourceSegment(Struct, frozen=True):
    base_offset: int
    size: int


class CompactionJob(Struct, frozen=True, kw_only=True):
    directory: str
    sources: list[SourceSegment]
    """Every sealed segment from the start of the log to the first that cannot be cleaned yet, ascending."""
    first_dirty_offset: int
    """Below it, each key has one record at most."""
    end_offset: int
    """The base offset of the first segment that is not cleaned."""
    last_offsets: dict[int, int]
    """By producer id: the last offset of its newest batch, whose sequence number must be kept."""
    marker_epochs: dict[int, int]
    """By producer id, for producers without known records: the epoch, which must be kept in a marker."""
    aborted: list[AbortedTransaction]
    """All aborted transactions with offsets in the segments."""
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    map_bytes_max: int
    """Memory for the keys of the dirty section; if it is not enough, only a part of the section is cleaned."""
    io_bytes_per_second: float | None = None


class CleanedGroup(Struct, frozen=True, tag=True):
    sources: list[int]
    """Base offsets of the segments to replace; the first is also the base offset of the cleaned one."""
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
