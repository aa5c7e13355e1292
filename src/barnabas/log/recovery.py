"""Opens a log: after a clean shutdown nothing is scanned, after a crash only what may not have been synced.

The recovery point is the offset below which everything was synced. After a crash, the segment that contains it and all
later ones are read, and every batch is checked (`segment_recovery`). After the recovery point, the log is truncated at
the first torn batch. Below it, and after a clean shutdown, nothing is ever truncated: no crash causes damage there, and
truncating synced, acknowledged data would turn a bad sector into the loss of everything after it. Damaged bytes stay in
the file, and readers get an error for their offsets. If they are at the very end, the log continues in a new segment.

In segments that are not scanned, damage is found by reads, or by `barnabas log verify`.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from barnabas.env import Disk
from barnabas.log.batch_finder import SegmentEnd
from barnabas.log.batch_scan import RELATIVE_OFFSET_MAX
from barnabas.log.checkpoint_file import CorruptCheckpoint
from barnabas.log.epoch_cache import FILE_NAME as EPOCH_FILE_NAME
from barnabas.log.epoch_cache import EpochCache
from barnabas.log.epoch_check import epochs_match_last_segment, read_epochs
from barnabas.log.index_cache import IndexCache
from barnabas.log.index_file import CorruptIndex
from barnabas.log.partition_metadata import read_topic_id, write_topic_id
from barnabas.log.producer_rebuild import (
    newest_snapshot,
    rebuild_producers,
    rebuild_transaction_index,
    remove_snapshots_after,
    remove_stray_snapshots,
    replay_until,
)
from barnabas.log.producer_snapshot import list_snapshots
from barnabas.log.producer_state import ProducerState
from barnabas.log.segment import Segment
from barnabas.log.segment_loading import load_segments
from barnabas.log.segment_recovery import SegmentRecovery
from barnabas.log.segments import limit_offsets
from barnabas.log.settings import LogSettings
from barnabas.model import TopicId

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCheckpoint:
    """What the checkpoint files of a log directory say about one log."""

    clean_shutdown: bool = True
    recovery_point: int | None = None
    """None: it is not in the checkpoint, so everything is scanned."""
    recovery_point_is_lost: bool = False
    """The checkpoint is damaged. Anything may have been synced: only what follows the last valid batch is truncated."""
    log_start_offset: int = 0
    high_watermark: int = 0


NEW_LOG: Final = LogCheckpoint()


class LoadedLog(NamedTuple):
    topic_id: TopicId | None
    segments: list[Segment]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    recovery_point: int
    end_at_clean_close: int
    """The log end offset if the log was closed cleanly; else -1."""
    epochs: EpochCache
    producers: ProducerState


def load_log(
    disk: Disk,
    directory: str,
    settings: LogSettings,
    checkpoint: LogCheckpoint,
    *,
    topic_id: TopicId | None,
    now_ms: int,
    cache: IndexCache,
) -> LoadedLog:
    """Load the log, or create it with this topic id."""
    clean_shutdown, recovery_point = checkpoint.clean_shutdown, checkpoint.recovery_point
    log_start_offset = checkpoint.log_start_offset
    disk.make_dirs(directory)
    stored_topic_id = read_topic_id(disk, directory)
    if stored_topic_id is None and topic_id is not None:
        write_topic_id(disk, directory, topic_id)
        stored_topic_id = topic_id
    segments = load_segments(
        disk, directory, index_interval_bytes=settings.index_interval_bytes, now_ms=now_ms, cache=cache
    )
    limit_offsets(segments)
    epochs = _load_epochs(disk, directory, segments)
    first_unflushed = len(segments) if clean_shutdown else _floor(segments, recovery_point or 0)
    for slot, segment in enumerate(segments[:first_unflushed]):
        if segment.indexes.has_aborted:
            _check_transaction_index(disk, directory, segments[: slot + 1], log_start_offset)
    producers: ProducerState | None = None
    if first_unflushed < len(segments):
        base_offset = segments[first_unflushed].base_offset
        log_start = max(log_start_offset, segments[0].base_offset)
        remove_snapshots_after(disk, directory, max(recovery_point or 0, base_offset))
        producers = newest_snapshot(disk, directory, log_start, base_offset)
        replay_until(producers, segments[:first_unflushed], max(base_offset, log_start))
        epochs.truncate_from_end(base_offset)  # later epochs are read from the batches
        recovery = SegmentRecovery(
            disk,
            directory,
            epochs,
            producers,
            recovery_point=None if checkpoint.recovery_point_is_lost else recovery_point or 0,
            may_have_gaps=settings.compact or recovery_point is None,
        )
        kept, end = recovery.run(segments, first_unflushed)
        producers = recovery.producers
        _remove_segments(disk, directory, segments[len(kept) :])
        segments = kept
        log_end_offset = _log_end_after(end, segments[-1], [recovery_point or 0])
    elif segments:
        end, log_end_offset = _end_after_clean_shutdown(segments[-1], recovery_point, list_snapshots(disk, directory))
    else:
        end, log_end_offset = SegmentEnd(log_start_offset, None), log_start_offset
    if log_end_offset < log_start_offset:
        # The records up to the log start offset were deleted, then the last ones were lost in a crash.
        logger.warning(
            "%s ends at offset %d, below its log start offset: continuing at %d",
            directory,
            log_end_offset,
            log_start_offset,
        )
        log_end_offset, producers = log_start_offset, None
    if segments and log_end_offset == end.next_offset:
        segments[-1].activate(log_end_offset)
    else:
        segments.append(
            Segment.create(
                disk,
                directory,
                log_end_offset,
                index_interval_bytes=settings.index_interval_bytes,
                now_ms=now_ms,
                cache=cache,
            )
        )
    limit_offsets(segments)
    log_start_offset = max(log_start_offset, segments[0].base_offset)
    if not epochs_match_last_segment(epochs, segments, log_end_offset):
        logger.warning(
            "%s/%s does not match the batches: reading the leader epochs from the batches", directory, EPOCH_FILE_NAME
        )
        epochs = read_epochs(segments)
    epochs.truncate_from_end(log_end_offset)
    epochs.truncate_from_start(log_start_offset)
    if producers is None:
        producers = rebuild_producers(
            disk,
            directory,
            segments,
            log_start_offset=log_start_offset,
            end_offset=log_end_offset,
        )
    producers.end_offset = log_end_offset
    remove_stray_snapshots(disk, directory, segments)
    return LoadedLog(
        topic_id=stored_topic_id,
        segments=segments,
        log_start_offset=log_start_offset,
        log_end_offset=log_end_offset,
        high_watermark=min(max(checkpoint.high_watermark, log_start_offset), log_end_offset),
        recovery_point=log_end_offset if clean_shutdown else min(recovery_point or 0, log_end_offset),
        end_at_clean_close=log_end_offset if clean_shutdown else -1,
        epochs=epochs,
        producers=producers,
    )


def _check_transaction_index(disk: Disk, directory: str, segments: Sequence[Segment], log_start_offset: int) -> None:
    """Check the index of the last of the segments. With a wrong one, consumers would get aborted records."""
    try:
        segments[-1].indexes.transaction_index()
    except CorruptIndex as error:
        logger.warning("the transaction index of %s is damaged (%s): rebuilding it", segments[-1], error)
        rebuild_transaction_index(
            disk, directory, segments, log_start_offset=max(log_start_offset, segments[0].base_offset)
        )


def end_offset_at_close(recovery_point: int | None, snapshots: Sequence[int]) -> int | None:
    """The end offset of a log that was closed cleanly; None: unknown.

    It is both the recovery point and the offset of the newest producer snapshot: known if the two agree.
    """
    return recovery_point if snapshots and snapshots[-1] == recovery_point else None


def _end_after_clean_shutdown(
    active: Segment, recovery_point: int | None, snapshots: Sequence[int]
) -> tuple[SegmentEnd, int]:
    """How the last segment of a cleanly closed log ends, and the log end offset."""
    closed_at = end_offset_at_close(recovery_point, snapshots)
    if closed_at is not None and closed_at > active.base_offset:
        active.batches.offset_limit = closed_at
    end = active.finder.find_end()
    limit_offsets([active])
    if end.damage is not None and end.next_offset == closed_at:
        logger.warning("%s; the log ended before these bytes when it was closed, so they are truncated", end.damage)
        active.truncate_at(end.damage.position)
        return SegmentEnd(closed_at, None), closed_at
    if end.damage is None and closed_at is not None and end.next_offset < closed_at:
        logger.error(
            "%s ends at offset %d, but the log ended at %d when it was closed: the records in between are lost, "
            "the log continues after them",
            active,
            end.next_offset,
            closed_at,
        )
        return end, closed_at
    return end, _log_end_after(end, active, [recovery_point or 0, *snapshots])


def _log_end_after(end: SegmentEnd, active: Segment, known_ends: Sequence[int]) -> int:
    """The log end offset. If the log ends with damage, the highest end offset that is known."""
    if end.damage is None:
        return end.next_offset
    possible = [offset for offset in known_ends if offset <= active.base_offset + RELATIVE_OFFSET_MAX]
    log_end_offset = max(end.next_offset + 1, *possible)
    logger.error(
        "%s; it was synced, so it is kept, and the log continues after it, at offset %d. "
        "Run `barnabas log verify %s` for details",
        end.damage,
        log_end_offset,
        active.files.directory,
    )
    return log_end_offset


def _floor(segments: Sequence[Segment], offset: int) -> int:
    for slot in range(len(segments) - 1, 0, -1):
        if segments[slot].base_offset <= offset:
            return slot
    return 0


def _load_epochs(disk: Disk, directory: str, segments: Sequence[Segment]) -> EpochCache:
    try:
        return EpochCache.load(disk, directory)
    except FileNotFoundError:
        pass
    except CorruptCheckpoint as error:
        logger.warning(
            "%s/%s is damaged (%s): reading the leader epochs from the batches", directory, EPOCH_FILE_NAME, error
        )
    return read_epochs(segments)


def _remove_segments(disk: Disk, directory: str, segments: Sequence[Segment]) -> None:
    """Remove their files at once, newest first, so that a crash in between leaves no gap."""
    if not segments:
        return
    logger.warning(
        "removing the segments after that: %s",
        ", ".join(f"{segment} of {segment.size} bytes" for segment in segments),
    )
    for segment in reversed(segments):
        segment.close()
        for path in segment.files.existing_paths():
            disk.remove(path)
    disk.sync_dir(directory)
