"""Reads leader epochs from batches, and compares the epoch cache with the batches.

`leader-epoch-checkpoint` has no checksum, and with a wrong entry a consumer would think that records were replaced. The
entries for the last segment are compared with its batches when a log is opened, older ones when they are requested.
"""

from collections.abc import Iterable, Sequence

from barnabas.log.batch_finder import DamagedRecords
from barnabas.log.batch_scan import PlacedBatch
from barnabas.log.epoch_cache import EpochCache
from barnabas.log.segment import Segment
from barnabas.records.batch import BatchHeader


def note_epoch(epochs: EpochCache, header: BatchHeader) -> None:
    if header.leader_epoch > epochs.latest_epoch:
        epochs.assign(header.leader_epoch, header.base_offset)


def read_epochs(segments: Iterable[Segment]) -> EpochCache:
    epochs = EpochCache()
    for segment in segments:
        for header in segment.batches.valid_headers():
            note_epoch(epochs, header)
    return epochs


def epochs_match_last_segment(epochs: EpochCache, segments: Sequence[Segment], log_end_offset: int) -> bool:
    """Whether the epochs match the batches in the last segment that is not empty."""
    base_offset = next((each.base_offset for each in reversed(segments) if each.size), log_end_offset)
    starts = [entry.start_offset for entry in epochs.entries if base_offset < entry.start_offset < log_end_offset]
    offsets = {base_offset, *starts, *(start - 1 for start in starts), log_end_offset - 1}
    return all(
        epoch_matches_batch(epochs, segments, offset) for offset in offsets if base_offset <= offset < log_end_offset
    )


def checked_epochs(
    epochs: EpochCache, segments: Sequence[Segment], end_offset: int, log_start_offset: int
) -> EpochCache:
    """The epochs, read from the batches if those around `end_offset`, where an epoch ends, contradict them."""
    if all(epoch_matches_batch(epochs, segments, offset) for offset in (end_offset - 1, end_offset)):
        return epochs
    epochs = read_epochs(segments)
    epochs.truncate_from_start(log_start_offset)
    return epochs


def epoch_matches_batch(epochs: EpochCache, segments: Sequence[Segment], offset: int) -> bool:
    """Whether the cache has the epoch of the batch at `offset`. Also True if that batch is damaged or gone."""
    segment = next((each for each in reversed(segments) if each.base_offset <= offset), None)
    if segment is None:
        return True
    try:
        found = segment.seek(offset)
    except DamagedRecords:
        return True
    if found is None:
        return True
    for batch in segment.finder.scan_from(found.entry_before):
        if isinstance(batch, PlacedBatch) and batch.batch.header.last_offset >= offset:
            header = batch.batch.header
            return header.base_offset > offset or header.leader_epoch == epochs.epoch_at(offset)
    return True
