"""Recovery after a crash: reads the segments that may not have been synced, and rebuilds indexes and producer state.

After the recovery point, the log is truncated at the first batch that is not valid, as in Kafka: a torn write has no
records, and offsets must not have gaps. The log says how much was truncated.

Below the recovery point everything was synced. Damage there stays in the file, the batches after it are kept, and
readers get an error for the damaged offsets. Indexes and leader epochs are rebuilt from the valid batches. What
producers wrote in the damaged part is taken from the next producer snapshot and the segment's old transaction index.
"""

import logging
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

from barnabas.env import Disk, File
from barnabas.log.batch_finder import SegmentEnd
from barnabas.log.batch_scan import RELATIVE_OFFSET_MAX, Damage, PlacedBatch, scan_batches
from barnabas.log.epoch_cache import EpochCache
from barnabas.log.epoch_check import note_epoch
from barnabas.log.index_file import CorruptIndex
from barnabas.log.producer_rebuild import load_snapshot, replay_batch
from barnabas.log.producer_snapshot import list_snapshots, write_snapshot
from barnabas.log.producer_state import ProducerState
from barnabas.log.segment import BatchPlacement, Segment
from barnabas.log.transaction_index import AbortedTransaction

logger = logging.getLogger(__name__)


class SegmentRecovery:
    def __init__(
        self,
        disk: Disk,
        directory: str,
        epochs: EpochCache,
        producers: ProducerState,
        *,
        recovery_point: int | None,
        may_have_gaps: bool,
    ) -> None:
        """`recovery_point` None: unknown. Then only what follows the last valid batch is truncated."""
        self._disk = disk
        self._directory = directory
        self._epochs = epochs
        self.producers = producers
        """The state at the start of the first recovered segment; after `run`, at the end of the log."""
        self._recovery_point = recovery_point
        self._may_have_gaps = may_have_gaps
        self._snapshot: ProducerState | None = None
        """A snapshot from after known damage; replaces `producers` at its offset."""
        self._passed_damage = False

    def run(self, segments: list[Segment], first: int) -> tuple[list[Segment], SegmentEnd]:
        """Recover `segments[first:]`. Returns all segments that are kept, and how the last of them ends."""
        end = SegmentEnd(segments[first].base_offset, None)
        for slot in range(first, len(segments)):
            segment = segments[slot]
            is_last = slot + 1 == len(segments)
            if slot > first:
                if not self._continues(segment, end):
                    self._switch_to_snapshot(end.next_offset)
                    return segments[:slot], end
                self._switch_to_snapshot(segment.base_offset)
                write_snapshot(self._disk, self._directory, segment.base_offset, self.producers.producers)
            if not is_last and self._is_unflushed(segments[slot + 1].base_offset):
                # The next segment may be invalid itself, so its base offset is no limit.
                segment.batches.offset_limit = segment.base_offset + RELATIVE_OFFSET_MAX + 1
            end, was_truncated = self._recover(segment, is_last=is_last)
            if was_truncated:
                segments = segments[: slot + 1]
                break
        self._switch_to_snapshot(2**63)
        return segments, end

    def _is_unflushed(self, offset: int) -> bool:
        return self._recovery_point is not None and offset >= self._recovery_point

    def _continues(self, segment: Segment, end: SegmentEnd) -> bool:
        """Whether the segment can follow what was recovered so far.

        A crash may lose the end of a segment while a later segment is on disk. Unless the log was compacted, a gap
        between two unflushed segments means such a loss, and the later segment must be removed.
        """
        base_offset, next_offset = segment.base_offset, end.next_offset
        is_gap = base_offset > next_offset and end.damage is None
        if base_offset == next_offset or end.damage is not None or (is_gap and self._may_have_gaps):
            return True
        logger.warning(
            "%s: a segment begins at offset %d where %d was expected", self._directory, base_offset, next_offset
        )
        return not self._is_unflushed(base_offset)

    def _recover(self, segment: Segment, *, is_last: bool) -> tuple[SegmentEnd, bool]:
        """How the segment ends, and whether it was truncated there."""
        file_size = segment.size
        indexed_aborts = _indexed_aborts(segment)
        segment.reset()
        self.producers.end_offset = max(self.producers.end_offset, segment.base_offset)
        next_offset = segment.base_offset
        damage: Damage | None = None
        was_truncated = False
        for found in scan_after_crash(
            segment.file,
            file_size,
            base_offset=segment.base_offset,
            offset_limit=segment.batches.offset_limit,
            recovery_point=self._recovery_point,
            is_last=is_last,
        ):
            if isinstance(found, PlacedBatch):
                self._add_batch(segment, found, indexed_aborts)
                next_offset = found.batch.header.next_offset
                damage = None
            elif may_be_truncated(found, self._recovery_point, is_last=is_last):
                self._truncate(segment, found, file_size)
                was_truncated = True
                break
            else:
                damage = found
                self._keep_damage(segment, found, indexed_aborts)
        segment.seal()
        segment.synced = False
        return SegmentEnd(next_offset, damage), was_truncated

    def _add_batch(self, segment: Segment, found: PlacedBatch, indexed_aborts: Sequence[AbortedTransaction]) -> None:
        header = found.batch.header
        self._switch_to_snapshot(header.base_offset)
        segment.add_batches([BatchPlacement(header.base_offset, header.last_offset, header.max_timestamp, header.size)])
        note_epoch(self._epochs, header)
        producers = self.producers
        if header.has_producer_id and header.last_offset >= producers.end_offset:
            aborted = replay_batch(producers, found.batch)
            if aborted is not None:
                segment.indexes.add_aborted(self._as_indexed(aborted, indexed_aborts))
        producers.end_offset = max(producers.end_offset, header.next_offset)

    def _as_indexed(self, aborted: AbortedTransaction, indexed: Sequence[AbortedTransaction]) -> AbortedTransaction:
        """The entry from the old index, if there is damage before it.

        The damage may hide the transaction's first batch, or the marker of the producer's previous transaction.
        """
        if not self._passed_damage:
            return aborted
        ends = (aborted.producer_id, aborted.last_offset)
        return next((each for each in indexed if (each.producer_id, each.last_offset) == ends), aborted)

    def _truncate(self, segment: Segment, damage: Damage, file_size: int) -> None:
        logger.warning(
            "%s; after the crash, %d unflushed bytes from there on are truncated, the log continues at offset %d",
            damage,
            file_size - segment.size,
            damage.first_offset,
        )
        segment.file.truncate(segment.size)
        segment.file.sync()  # else a second crash could bring it back after new records

    def _keep_damage(self, segment: Segment, damage: Damage, indexed_aborts: Sequence[AbortedTransaction]) -> None:
        logger.error(
            "%s; it was synced, so it is kept: %s. Run `barnabas log verify %s` for details",
            damage,
            damage.consequence,
            self._directory,
        )
        segment.keep_damage(damage)
        self._passed_damage = True
        end_offset = segment.batches.offset_limit if damage.next_offset is None else damage.next_offset
        for aborted in indexed_aborts:
            if damage.first_offset <= aborted.last_offset < end_offset:
                segment.indexes.add_aborted(aborted)
                self.producers.note_aborted(aborted)
        snapshots = [
            offset
            for offset in list_snapshots(self._disk, self._directory)
            if damage.first_offset < offset <= (self._recovery_point or 0)
        ]
        candidates = [offset for offset in snapshots if offset >= end_offset] or snapshots[::-1]
        self._snapshot = next(filter(None, map(self._load_snapshot, candidates)), self._snapshot)

    def _load_snapshot(self, offset: int) -> ProducerState | None:
        return load_snapshot(self._disk, self._directory, offset)

    def _switch_to_snapshot(self, offset: int) -> None:
        """Use the snapshot from after the damage once recovery has reached its offset: it is more complete."""
        if self._snapshot is not None and self._snapshot.end_offset <= offset:
            self.producers, self._snapshot = self._snapshot, None


def may_be_truncated(damage: Damage, recovery_point: int | None, *, is_last: bool) -> bool:
    """Whether damage is, or may be, after the recovery point. None: the recovery point is lost."""
    if recovery_point is None:
        return is_last and damage.next_offset is None
    return damage.first_offset >= recovery_point


def scan_after_crash(
    file: File, size: int, *, base_offset: int, offset_limit: int, recovery_point: int | None, is_last: bool
) -> Iterator[PlacedBatch | Damage]:
    """Like `scan_batches`, but the last batch of the log must follow the one before without a gap.

    No later batch can confirm its offset, and the last segment is never compacted.
    """
    next_offset: int | None = base_offset
    scan = scan_batches(file, 0, size, next_offset=base_offset, offset_limit=offset_limit)
    for found, following in pairwise(chain(scan, (None,))):
        assert found is not None
        if isinstance(found, Damage):
            next_offset = found.next_offset
        else:
            begins_at = found.batch.header.base_offset
            is_misplaced = is_last and following is None and next_offset not in (begins_at, None)
            if is_misplaced and next_offset is not None and begins_at >= (recovery_point or 0):
                reason = f"offset {begins_at} where {next_offset} was expected"
                yield Damage(file.path, found.position, size - found.position, next_offset, None, reason)
                return
            next_offset = found.batch.header.next_offset
        yield found


def _indexed_aborts(segment: Segment) -> list[AbortedTransaction]:
    """The entries of its transaction index; none if it is damaged."""
    try:
        return segment.indexes.transaction_index().entries() if segment.indexes.has_aborted else []
    except CorruptIndex:
        return []
