"""The producer state as of an offset: the newest sound snapshot at or below it, and the batches after that snapshot."""

import logging
from collections.abc import Sequence

from barnabas.env import Disk
from barnabas.log.batch_scan import DamagedBatch
from barnabas.log.producer_snapshot import CorruptSnapshot, decode_snapshot, list_snapshots, snapshot_path
from barnabas.log.producer_state import ProducerState
from barnabas.log.segment import Segment

logger = logging.getLogger(__name__)


def rebuild_producers(
    disk: Disk,
    directory: str,
    segments: Sequence[Segment],
    *,
    log_start_offset: int,
    end_offset: int,
) -> ProducerState:
    """Snapshots past `end_offset` and damaged ones are removed on the way."""
    state = _newest_snapshot(disk, directory, log_start_offset, end_offset)
    if state.end_offset < end_offset:
        for segment, next_base in zip(segments, [*(s.base_offset for s in segments[1:]), end_offset], strict=True):
            if next_base > state.end_offset and segment.base_offset < end_offset:
                _read_segment(segment, state, end_offset)
        state.end_offset = end_offset
    return state


def _newest_snapshot(disk: Disk, directory: str, log_start_offset: int, end_offset: int) -> ProducerState:
    for offset in reversed(list_snapshots(disk, directory)):
        path = snapshot_path(directory, offset)
        if offset > end_offset:
            disk.remove(path)
        elif offset >= log_start_offset:
            try:
                return ProducerState(offset, decode_snapshot(disk.read_file(path)))
            except CorruptSnapshot as error:
                logger.warning("%s is damaged (%s): trying an older one, then reading the batches", path, error)
                disk.remove(path)
    return ProducerState(log_start_offset)


def _read_segment(segment: Segment, state: ProducerState, end_offset: int) -> None:
    start_offset = max(state.end_offset, segment.base_offset)
    try:
        found = segment.seek(start_offset)
        if found is None:
            return
        for _, header in segment.headers(found[0]):
            if header.base_offset >= end_offset:
                return
            if header.has_producer_id and header.base_offset >= start_offset:
                state.remember(header, header.base_offset)
    except DamagedBatch as damage:
        logger.warning("%s; producers that wrote after it there are forgotten", damage)


def remove_stray_snapshots(disk: Disk, directory: str, segments: Sequence[Segment]) -> None:
    """Keep those at the base offset of a segment, and the newest: it may be of a clean close."""
    wanted = {segment.base_offset for segment in segments}
    for offset in list_snapshots(disk, directory)[:-1]:
        if offset not in wanted:
            disk.remove(snapshot_path(directory, offset))
