"""Compaction itself: reads a job's segments and writes cleaned ones next to them. The result is deterministic.

First the dirty section is read for the latest offset of each key. If it has too many keys for the map, only what was
read so far is compacted, and the rest waits for the next round. Then all segments up to there are rewritten. Adjacent
segments that fit into one are merged, so that segments do not become ever smaller.

Groups are yielded in order of their offsets and must be swapped in in that order: a tombstone may be dropped only after
all older records with its key. The originals are only read. A crash leaves `.cleaned` files, which are removed by the
next round, or when the log is opened.
"""

import errno
import os
from collections.abc import Callable, Iterator, Sequence

from barnabas.env import Disk
from barnabas.log.batch_scan import RELATIVE_OFFSET_MAX, Damage, DamagedBatch, PlacedBatch, scan_batches
from barnabas.log.compaction_filter import BatchFilter
from barnabas.log.compaction_job import CleanedGroup, CompactionJob, Finished, SourceSegment, Step
from barnabas.log.compaction_map import LatestOffsets
from barnabas.log.compaction_transactions import TransactionTracker
from barnabas.log.file_names import CLEANED, LOG, OFFSET_INDEX, TIME_INDEX, file_name, parse_file_name
from barnabas.log.index_cache import IndexCache
from barnabas.log.segment import BatchPlacement, Segment
from barnabas.log.timestamp_lookup import DECODED_BYTES_MAX
from barnabas.records.batch import Buffer, read_header
from barnabas.records.record import decode_records

WRITE_BYTES = 1024 * 1024

Throttle = Callable[[int], None]
"""Called with the size of every batch read or written; may sleep, or end the process."""


def compact(job: CompactionJob, disk: Disk, throttle: Throttle = lambda _: None) -> Iterator[Step]:
    """Each group has been synced when it is yielded; the caller owns it from then on."""
    throttle(0)  # the broker may have died while this process started: the files may be another worker's
    remove_cleaned(disk, job.directory)
    latest = LatestOffsets(job.map_bytes_max)
    end_offset = _map_dirty_section(job, disk, latest, throttle)
    batches = BatchFilter(
        latest,
        end_offset=end_offset,
        last_offsets=job.last_offsets,
        marker_epochs=job.marker_epochs,
        transactions=TransactionTracker(job.aborted),
        now_ms=job.now_ms,
        delete_retention_ms=job.delete_retention_ms,
    )
    bytes_read = bytes_kept = 0
    for group in group_segments(job, disk, end_offset):
        cleaned = _clean_group(job, disk, group, batches, throttle)
        group_bytes = sum(source.size for source in group)
        bytes_read += group_bytes
        bytes_kept += cleaned.size if cleaned is not None else group_bytes
        if cleaned is not None:
            yield cleaned
    yield Finished(end_offset, len(latest), batches.records_read, batches.records_kept, bytes_read, bytes_kept)


def remove_cleaned(disk: Disk, directory: str) -> None:
    """Remove `.cleaned` files that were not swapped in."""
    for name in disk.list_dir(directory):
        parsed = parse_file_name(name)
        if parsed is not None and parsed.suffix == CLEANED:
            disk.remove(f"{directory}/{name}")


def group_segments(job: CompactionJob, disk: Disk, end_offset: int) -> list[list[SourceSegment]]:
    """Groups of adjacent segments below `end_offset` that fit into one: by size, index entries and offset range."""
    next_bases = [*(source.base_offset for source in job.sources[1:]), job.end_offset]
    groups: list[list[SourceSegment]] = []
    room = room_offsets = room_times = 0
    for source, next_base in zip(job.sources, next_bases, strict=True):
        if source.base_offset >= end_offset:
            break
        room -= source.size
        room_offsets -= (offsets := _index_size(job, disk, source, OFFSET_INDEX))
        room_times -= (times := _index_size(job, disk, source, TIME_INDEX))
        if (
            groups
            and min(room, room_offsets, room_times) >= 0
            and next_base - 1 - groups[-1][0].base_offset <= RELATIVE_OFFSET_MAX
        ):
            groups[-1].append(source)
        else:
            groups.append([source])
            room = job.segment_bytes - source.size
            room_offsets = job.segment_index_bytes - offsets
            room_times = job.segment_index_bytes - times
    return groups


def _index_size(job: CompactionJob, disk: Disk, source: SourceSegment, kind: str) -> int:
    path = f"{job.directory}/{file_name(source.base_offset, kind)}"
    return disk.size(path) if disk.exists(path) else 0


def _map_dirty_section(job: CompactionJob, disk: Disk, latest: LatestOffsets, throttle: Throttle) -> int:
    """Returns the offset up to which all keys are in the map."""
    start_offset = job.first_dirty_offset
    next_bases = [*(source.base_offset for source in job.sources[1:]), job.end_offset]
    transactions = TransactionTracker(job.aborted)
    for source, next_base in zip(job.sources, next_bases, strict=True):
        if next_base <= start_offset:
            continue
        for _, batch in _read_batches(job, disk, source, throttle):
            header = batch.header
            if header.is_control:
                transactions.is_obsolete_marker(batch)
                continue
            if transactions.is_aborted(header) or header.last_offset < start_offset:
                continue
            if not latest.add(decode_records(batch, max_bytes=DECODED_BYTES_MAX), start_offset=start_offset):
                return header.base_offset
    return job.end_offset


def _clean_group(
    job: CompactionJob, disk: Disk, group: Sequence[SourceSegment], batches: BatchFilter, throttle: Throttle
) -> CleanedGroup | None:
    """None: it is a single segment that does not change."""
    if disk.free_bytes(job.directory) < sum(source.size for source in group):
        # Leave the remaining space to producers.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), job.directory)
    target = Segment.create(
        disk,
        job.directory,
        group[0].base_offset,
        index_interval_bytes=job.index_interval_bytes,
        now_ms=job.now_ms,
        cache=IndexCache(),
        suffix=CLEANED,
    )
    cleaned: CleanedGroup | None = None
    batches.transactions.still_needed.clear()
    try:
        if _write_kept(job, disk, group, batches, throttle, target) or len(group) > 1:
            for aborted in batches.transactions.still_needed:
                target.indexes.add_aborted(aborted)
            _finish(disk, target)
            cleaned = CleanedGroup([source.base_offset for source in group], target.size)
    finally:
        target.close()
        if cleaned is None:
            for path in target.files.existing_paths():
                disk.remove(path)
    return cleaned


def _write_kept(
    job: CompactionJob,
    disk: Disk,
    group: Sequence[SourceSegment],
    batches: BatchFilter,
    throttle: Throttle,
    target: Segment,
) -> bool:
    """Write what the filter keeps of a group; returns whether anything changed."""
    last = max((source for source in group if source.size), default=None, key=lambda source: source.base_offset)
    changed = False
    pieces: list[Buffer] = []
    placed: list[BatchPlacement] = []
    pending_bytes = 0
    for source in group:
        for position, batch in _read_batches(job, disk, source, throttle):
            is_last = source is last and position + len(batch.data) == source.size
            kept = batches.apply(batch, is_last=is_last)
            changed = changed or kept is not batch.data
            if kept is None:
                continue
            header = batch.header if kept is batch.data else read_header(kept)
            pieces.append(kept)
            placed.append(BatchPlacement(header.base_offset, header.last_offset, header.max_timestamp, len(kept)))
            pending_bytes += len(kept)
            if pending_bytes >= WRITE_BYTES:
                target.append(pieces, placed)
                pieces, placed, pending_bytes = [], [], 0
            throttle(len(kept))
    if pieces:
        target.append(pieces, placed)
    return changed


def _finish(disk: Disk, target: Segment) -> None:
    """Seal the segment and sync its files and their names."""
    target.seal()
    for path in target.files.existing_paths():
        file = disk.open(path)
        try:
            file.sync()
        finally:
            file.close()
    disk.sync_dir(target.files.directory)


def _read_batches(job: CompactionJob, disk: Disk, source: SourceSegment, throttle: Throttle) -> Iterator[PlacedBatch]:
    """Raises DamagedBatch: a damaged segment is not compacted, as the keys in the damaged batch are unknown."""
    following = [other.base_offset for other in job.sources if other.base_offset > source.base_offset]
    file = disk.open(f"{job.directory}/{file_name(source.base_offset, LOG)}", readonly=True)
    try:
        for found in scan_batches(
            file, 0, source.size, next_offset=source.base_offset, offset_limit=min(following, default=job.end_offset)
        ):
            if isinstance(found, Damage):
                raise DamagedBatch(found.path, found.position, found.reason)
            throttle(len(found.batch.data))
            yield found
    finally:
        file.close()
