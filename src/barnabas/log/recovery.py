"""Opening a log: after a clean shutdown nothing is scanned, after a crash only what may not have reached the device.

The recovery point is the offset below which everything was synced. After a crash, the segment that holds it and all
later ones are read whole and every CRC is checked. The first batch that is not sound ends the log: it and everything
after it is cut off, as Kafka does, because offsets must not have a hole; what was cut is logged. Indexes, leader
epochs and producer state are rebuilt on the way.

Damage below the recovery point is not looked for here: no crash causes it, and truncating synced, acknowledged data
would turn a bad sector into the loss of everything after it. It is found when it is read, or by
`PartitionLog.verify`.
"""

import logging
from collections.abc import Sequence
from typing import NamedTuple

from barnabas.env import Disk
from barnabas.log.batch_scan import DamagedBatch, scan_batches
from barnabas.log.checkpoint_file import CorruptCheckpoint
from barnabas.log.epoch_cache import EpochCache
from barnabas.log.index_cache import IndexCache
from barnabas.log.index_file import CorruptIndex
from barnabas.log.producer_rebuild import (
    mend_transaction_index,
    rebuild_producers,
    remove_stray_snapshots,
    replay_batch,
)
from barnabas.log.producer_snapshot import write_snapshot
from barnabas.log.producer_state import ProducerState
from barnabas.log.segment import Placed, Segment
from barnabas.log.segment_files import load_segments
from barnabas.log.settings import LogSettings
from barnabas.records.batch import BatchHeader

logger = logging.getLogger(__name__)


class LoadedLog(NamedTuple):
    segments: list[Segment]
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    epochs: EpochCache
    producers: ProducerState


def load_log(
    disk: Disk,
    directory: str,
    settings: LogSettings,
    *,
    now_ms: int,
    clean_shutdown: bool,
    recovery_point: int | None,
    log_start_offset: int,
    cache: IndexCache,
) -> LoadedLog:
    """`recovery_point` None: it was never written down, or that was lost; everything is scanned then."""
    segments = load_segments(
        disk, directory, index_interval_bytes=settings.index_interval_bytes, now_ms=now_ms, cache=cache
    )
    epochs = _load_epochs(disk, directory, segments)
    first_unflushed = len(segments) if clean_shutdown else _floor(segments, recovery_point or 0)
    for slot, segment in enumerate(segments[:first_unflushed]):
        if segment.has_aborted:
            _check_transaction_index(disk, directory, segments[: slot + 1], log_start_offset)
    producers: ProducerState | None = None
    if first_unflushed < len(segments):
        log_start = max(log_start_offset, segments[0].base_offset)
        producers = rebuild_producers(
            disk,
            directory,
            segments[:first_unflushed],
            log_start_offset=log_start,
            end_offset=max(segments[first_unflushed].base_offset, log_start),
        )
        epochs.truncate_from_end(segments[first_unflushed].base_offset)  # what began later is read from the batches
        may_have_gaps = settings.compact or recovery_point is None
        segments = _recover(disk, directory, segments, first_unflushed, epochs, producers, may_have_gaps=may_have_gaps)

    log_end_offset = _end_offset(segments[-1]) if segments else log_start_offset
    if log_end_offset < log_start_offset:
        logger.warning(
            "%s ends at offset %d, below its log start offset %d (files were removed?): starting afresh there",
            directory,
            log_end_offset,
            log_start_offset,
        )
        _remove_segments(disk, directory, segments)
        segments, producers, log_end_offset = [], None, log_start_offset
        epochs.clear()
    if not segments:
        segments = [
            Segment.create(
                disk,
                directory,
                log_start_offset,
                index_interval_bytes=settings.index_interval_bytes,
                now_ms=now_ms,
                cache=cache,
            )
        ]
    else:
        segments[-1].activate(log_end_offset)
    log_start_offset = max(log_start_offset, segments[0].base_offset)
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
        segments=segments,
        log_start_offset=log_start_offset,
        log_end_offset=log_end_offset,
        recovery_point=log_end_offset if clean_shutdown else min(recovery_point or 0, log_end_offset),
        epochs=epochs,
        producers=producers,
    )


def _check_transaction_index(disk: Disk, directory: str, segments: Sequence[Segment], log_start_offset: int) -> None:
    """Of the last of the segments. A wrong one would pass aborted records for committed ones."""
    try:
        segments[-1].transaction_index()
    except CorruptIndex as error:
        logger.warning("the aborted transactions of %s are damaged (%s): reading the batches", segments[-1], error)
        mend_transaction_index(
            disk, directory, segments, log_start_offset=max(log_start_offset, segments[0].base_offset)
        )


def _end_offset(active: Segment) -> int:
    try:
        return active.next_offset()
    except DamagedBatch as damage:
        # The log was closed cleanly, yet its very end is no batch: it must end somewhere to be appended to.
        logger.warning("%s; the log ends before it now, %d bytes are cut off", damage, active.size - damage.position)
        active.cut_at(damage.position)
        return active.next_offset()


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
        logger.warning("leader epochs of %s are damaged (%s): reading them from the batches", directory, error)
    epochs = EpochCache()
    for segment in segments:
        try:
            for _, header in segment.headers():
                _note_epoch(epochs, header)
        except DamagedBatch as damage:
            logger.warning("%s; leader epochs that began after it in this segment are not known", damage)
    return epochs


def _note_epoch(epochs: EpochCache, header: BatchHeader) -> None:
    if header.leader_epoch > epochs.latest_epoch:
        epochs.assign(header.leader_epoch, header.base_offset)


def _recover(
    disk: Disk,
    directory: str,
    segments: list[Segment],
    first: int,
    epochs: EpochCache,
    producers: ProducerState,
    *,
    may_have_gaps: bool,
) -> list[Segment]:
    """Check `segments[first:]`; returns those that remain.

    A segment may have lost its end while a later one reached the device. Unless the log was compacted, offsets that are
    missing between two unflushed segments were lost that way, and the later segment must not stand in for them.
    """
    next_offset = segments[first].base_offset
    for slot in range(first, len(segments)):
        segment = segments[slot]
        if segment.base_offset < next_offset or (segment.base_offset > next_offset and not may_have_gaps):
            logger.warning(
                "%s: a segment begins at offset %d where %d is the next", directory, segment.base_offset, next_offset
            )
            _remove_segments(disk, directory, segments[slot:])
            return segments[:slot]
        if slot > first:
            write_snapshot(disk, directory, segment.base_offset, producers.producers)
        damage = recover_segment(segment, epochs, producers)
        next_offset = segment.next_offset()
        if damage is not None:
            _remove_segments(disk, directory, segments[slot + 1 :])
            return segments[: slot + 1]
    return segments


def recover_segment(segment: Segment, epochs: EpochCache, producers: ProducerState) -> DamagedBatch | None:
    """Keep the sound batches at the front, rebuild the indexes, cut off the rest. Returns why something was cut."""
    file_size = segment.size
    segment.start_over()
    damage: DamagedBatch | None = None
    producers.end_offset = max(producers.end_offset, segment.base_offset)
    try:
        for _, batch in scan_batches(segment.file, 0, file_size, next_offset=segment.base_offset):
            header = batch.header
            segment.note([Placed(header.base_offset, header.last_offset, header.max_timestamp, header.size)])
            _note_epoch(epochs, header)
            if header.has_producer_id and header.last_offset >= producers.end_offset:
                aborted = replay_batch(producers, batch)
                if aborted is not None:
                    segment.add_aborted(aborted)
            producers.end_offset = max(producers.end_offset, header.next_offset)
    except DamagedBatch as found:
        damage = found
        logger.warning(
            "%s; after the crash, %d unflushed bytes from there on are cut off, the log goes on at offset %d",
            found,
            file_size - segment.size,
            producers.end_offset,
        )
        segment.file.truncate(segment.size)
        segment.file.sync()  # else a second crash brings it back behind what is written next
    segment.seal()
    segment.synced = False
    return damage


def _remove_segments(disk: Disk, directory: str, segments: Sequence[Segment]) -> None:
    """For good, and newest first: a crash in between leaves no hole."""
    if not segments:
        return
    logger.warning(
        "removing the segments from there on: %s",
        ", ".join(f"{segment} of {segment.size} bytes" for segment in segments),
    )
    for segment in reversed(segments):
        segment.close()
        for path in segment.existing_paths():
            disk.remove(path)
    disk.sync_dir(directory)
