"""Rebuilds the producer state at an offset from the newest valid snapshot at or below it and the batches after that.

A damaged transaction index is rebuilt the same way: the producer state at the start of the segment has the transactions
that its markers end.
"""

import logging
from collections.abc import Iterator, Sequence
from itertools import pairwise

from barnabas.env import Disk
from barnabas.log.batch_finder import DamagedRecords
from barnabas.log.batch_scan import Damage, PlacedBatch
from barnabas.log.producer_snapshot import CorruptSnapshot, decode_snapshot, list_snapshots, snapshot_path
from barnabas.log.producer_state import ProducerState
from barnabas.log.segment import Segment
from barnabas.log.transaction_index import AbortedTransaction
from barnabas.records.batch import Batch
from barnabas.records.control import read_marker
from barnabas.wire.errors import InvalidRecord

logger = logging.getLogger(__name__)


def rebuild_producers(
    disk: Disk,
    directory: str,
    segments: Sequence[Segment],
    *,
    log_start_offset: int,
    end_offset: int,
) -> ProducerState:
    """The state at `end_offset`. Removes snapshots after it, and damaged ones."""
    remove_snapshots_after(disk, directory, end_offset)
    state = newest_snapshot(disk, directory, log_start_offset, end_offset)
    replay_until(state, segments, end_offset)
    return state


def rebuild_transaction_index(
    disk: Disk, directory: str, segments: Sequence[Segment], *, log_start_offset: int
) -> None:
    """Rebuild the transaction index of the last of the segments."""
    damaged = segments[-1]
    state = newest_snapshot(disk, directory, log_start_offset, damaged.base_offset)
    replay_until(state, segments[:-1], damaged.base_offset)
    damaged.indexes.replace_transaction_index(_read_segment(damaged, state, 2**63))


def replay_batch(state: ProducerState, batch: Batch) -> AbortedTransaction | None:
    """Update the state with a batch that is in the log. Returns the transaction that it aborted, for the index."""
    header = batch.header
    if header.is_control:
        try:
            marker = read_marker(batch)
        except InvalidRecord as error:
            logger.warning(
                "the control batch at offset %d cannot be decoded, ignoring it: %s", header.base_offset, error
            )
            return None
        return state.remember_marker(header, header.base_offset, marker)
    state.remember(header, header.base_offset)
    return None


def replay_until(state: ProducerState, segments: Sequence[Segment], end_offset: int) -> None:
    """Update the state with the batches up to `end_offset`."""
    if state.end_offset < end_offset:
        ends = [*(following.base_offset for _, following in pairwise(segments)), end_offset]
        for segment, next_base in zip(segments, ends, strict=False):
            if next_base > state.end_offset and segment.base_offset < end_offset:
                _read_segment(segment, state, end_offset)
        state.end_offset = end_offset


def newest_snapshot(disk: Disk, directory: str, log_start_offset: int, end_offset: int) -> ProducerState:
    for offset in reversed(list_snapshots(disk, directory)):
        if log_start_offset <= offset <= end_offset:
            state = load_snapshot(disk, directory, offset)
            if state is not None:
                return state
    return ProducerState(log_start_offset)


def load_snapshot(disk: Disk, directory: str, offset: int) -> ProducerState | None:
    """None if the snapshot is damaged; it is removed then."""
    path = snapshot_path(directory, offset)
    try:
        return ProducerState(offset, decode_snapshot(disk.read_file(path)))
    except CorruptSnapshot as error:
        logger.warning(
            "%s is damaged (%s): rebuilding the producer state from another snapshot, or from all batches", path, error
        )
        disk.remove(path)
        return None


def _read_segment(segment: Segment, state: ProducerState, end_offset: int) -> list[AbortedTransaction]:
    aborted: list[AbortedTransaction] = []
    start_offset = max(state.end_offset, segment.base_offset)
    for found in _scan_from(segment, start_offset):
        if isinstance(found, Damage):
            logger.warning("%s: the producer state does not include these batches", found)
            continue
        header = found.batch.header
        if header.base_offset >= end_offset:
            break
        if header.has_producer_id and header.last_offset >= start_offset:
            transaction = replay_batch(state, found.batch)
            if transaction is not None:
                aborted.append(transaction)
    return aborted


def _scan_from(segment: Segment, offset: int) -> Iterator[PlacedBatch | Damage]:
    try:
        found = segment.seek(offset)
    except DamagedRecords:
        return segment.scan()
    return iter(()) if found is None else segment.finder.scan_from(found.entry_before)


def remove_snapshots_after(disk: Disk, directory: str, offset: int) -> None:
    for snapshot in list_snapshots(disk, directory):
        if snapshot > offset:
            disk.remove(snapshot_path(directory, snapshot))


def remove_stray_snapshots(disk: Disk, directory: str, segments: Sequence[Segment]) -> None:
    """Keep those at the base offset of a segment, and the newest: it may be from a clean shutdown."""
    wanted = {segment.base_offset for segment in segments}
    for offset in list_snapshots(disk, directory)[:-1]:
        if offset not in wanted:
            disk.remove(snapshot_path(directory, offset))
