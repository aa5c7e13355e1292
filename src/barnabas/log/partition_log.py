"""The log of one partition: appends as a leader or a follower, reads for consumers and followers.

Offsets: `log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset`. Records below the log start
offset cannot be read, even if their segment still exists. Records from the high watermark on are not committed yet; the
`end_offset` of a read keeps them from consumers, and records of open transactions as well.

Batches are not decoded: an append only needs their headers, and one vectored write. Call the log on the event loop
only; work that waits for the device is returned as a job (`begin_flush`, `due_deletions`, `LogSlice.read`).
"""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.log import timestamp_lookup
from barnabas.log.batch_scan import Damage
from barnabas.log.epoch_check import epoch_matches_batch, read_epochs
from barnabas.log.index_file import CorruptIndex
from barnabas.log.log_slice import LogSlice
from barnabas.log.producer_rebuild import replay_batch
from barnabas.log.searchable_segment import DamagedRecords, FoundBatch
from barnabas.log.segment import BatchPlacement
from barnabas.log.timestamp_lookup import TimestampedOffset
from barnabas.log.transaction_index import AbortedTransaction
from barnabas.log.transactions import VerificationGuard
from barnabas.log.trimmable_log import TrimmableLog
from barnabas.log.verification import verify_segments
from barnabas.records.batch import HEADER_SIZE, Batch, BatchHeader, Buffer, pack_offset_and_epoch_into, with_offsets
from barnabas.records.control import EndTransactionMarker
from barnabas.wire.errors import CorruptMessage, InvalidRequest, OffsetOutOfRange, RecordListTooLarge


class AppendResult(NamedTuple):
    base_offset: int
    last_offset: int
    log_append_time: int
    """-1 unless the topic uses LogAppendTime."""
    log_start_offset: int
    leader_epoch: int
    duplicate: bool
    """A retry of a batch that is in the log at these offsets; nothing was written."""


class PartitionLog(TrimmableLog):
    # Appending

    def append(
        self, batches: Sequence[Batch], *, leader_epoch: int, now_ms: int, guard: VerificationGuard | None = None
    ) -> AppendResult:
        """Append as the leader: assigns offsets, detects retries of idempotent producers and refuses gaps in sequences.

        The first batch of a transaction needs the `guard` that `begin_verification` returned.
        """
        if self.health.error is not None:
            self.health.check()
        first = batches[0].header
        if first.producer_id >= 0 and not (len(batches) == 1 and self.producers.expects(first)):
            duplicate = self.producers.find_duplicate(first)
            if duplicate is not None:
                return AppendResult(
                    duplicate.first_offset,
                    duplicate.last_offset,
                    duplicate.timestamp if first.is_log_append_time else -1,
                    self.log_start_offset,
                    leader_epoch,
                    True,
                )
            self.producers.check(
                [batch.header for batch in batches],
                guard,
                must_verify=self.settings.transaction_partition_verification,
            )
        return self._append(batches, leader_epoch, now_ms)

    def append_marker(
        self, batch: Batch, marker: EndTransactionMarker, *, leader_epoch: int, now_ms: int, transaction_version: int
    ) -> AppendResult:
        """End a producer's transaction, if one is open. `batch` is the control batch with `marker`."""
        self.health.check()
        self.producers.check_marker(batch.header, marker, transaction_version)
        return self._append([batch], leader_epoch, now_ms, marker)

    def begin_verification(
        self, producer_id: int, epoch: int, sequence: int, *, supports_epoch_bump: bool, now_ms: int
    ) -> VerificationGuard | None:
        """Call before asking the coordinator about a batch. None: its transaction is already open here."""
        return self.producers.begin_verification(
            producer_id, epoch, sequence, supports_epoch_bump=supports_epoch_bump, now_ms=now_ms
        )

    def _append(
        self, batches: Sequence[Batch], leader_epoch: int, now_ms: int, marker: EndTransactionMarker | None = None
    ) -> AppendResult:
        base_offset = offset = self.log_end_offset
        pieces: list[Buffer] = []
        placed: list[BatchPlacement] = []
        size = 0
        for batch in batches:
            header, data = batch
            last_offset = offset + header.last_offset_delta
            pieces += with_offsets(batch, offset, leader_epoch)
            batch_size = len(data)
            placed.append(BatchPlacement(offset, last_offset, header.max_timestamp, batch_size))
            size += batch_size
            offset = last_offset + 1
        if size > self.settings.segment_bytes:
            raise RecordListTooLarge(
                f"{size} bytes in one append to {self.topic_partition}, "
                f"more than a segment holds (segment.bytes={self.settings.segment_bytes})"
            )
        self._write(pieces, placed, size, now_ms)
        if leader_epoch > self.epochs.latest_epoch:
            self.epochs.assign(leader_epoch, base_offset)
        if marker is not None:
            self._note_aborted(self.producers.remember_marker(batches[0].header, base_offset, marker))
        else:
            for batch, placement in zip(batches, placed, strict=True):
                if batch.header.producer_id >= 0:
                    self.producers.remember(batch.header, placement.base_offset)
        self.producers.end_offset = offset
        first = batches[0].header
        log_append_time = first.max_timestamp if first.is_log_append_time else -1
        return AppendResult(base_offset, offset - 1, log_append_time, self.log_start_offset, leader_epoch, False)

    def append_in_place(self, header: BatchHeader, batch: memoryview, *, leader_epoch: int, now_ms: int) -> bool:
        """The fast path of `append`, for one ordinary batch whose buffer may be changed.

        Ordinary: not in a transaction, the next batch of an idempotent producer or from a non-idempotent one, in the
        latest leader epoch, and with room in the active segment. False if it is not, or if the write fails: nothing has
        changed then, and `append` handles it or raises the error.
        """
        settings = self.settings
        segment = self.segments.active
        offset = self.log_end_offset
        last_offset = offset + header.last_offset_delta
        is_idempotent = header.producer_id >= 0
        if (
            (is_idempotent and not self.producers.is_next(header))
            or leader_epoch != self.epochs.latest_epoch
            or self.health.error is not None
            or not segment.has_room_for(
                len(batch),
                last_offset,
                header.max_timestamp,
                settings,
                open_ms_max=settings.segment_ms - self._roll_jitter_ms,
                now_ms=now_ms,
            )
        ):
            return False
        pack_offset_and_epoch_into(batch, 0, offset, header.batch_length, leader_epoch)
        try:
            segment.append_one(batch, last_offset, header.max_timestamp)
        except OSError:
            pack_offset_and_epoch_into(batch, 0, header.base_offset, header.batch_length, header.leader_epoch)
            return False
        if is_idempotent:
            self.producers.remember(header, offset)
        self.log_end_offset = self.producers.end_offset = last_offset + 1
        return True

    def append_replicated(self, batches: Sequence[Batch], *, now_ms: int) -> AppendResult:
        """Append batches from the leader, with its offsets and epochs."""
        self.health.check()
        first = batches[0].header
        for batch in batches:  # one by one: together they may be larger than a segment
            header = batch.header
            if header.base_offset < self.log_end_offset:
                raise InvalidRequest(
                    f"a replicated batch begins at offset {header.base_offset}, "
                    f"but {self.topic_partition} ends at {self.log_end_offset}"
                )
            placed = BatchPlacement(header.base_offset, header.last_offset, header.max_timestamp, header.size)
            self._write([batch.data], [placed], placed.size, now_ms)
            self.epochs.assign(header.leader_epoch, header.base_offset)
            if header.producer_id >= 0:
                self._note_aborted(replay_batch(self.producers, batch))
            self.producers.end_offset = self.log_end_offset
        return AppendResult(
            first.base_offset, self.log_end_offset - 1, -1, self.log_start_offset, self.latest_epoch, False
        )

    def _write(self, pieces: Sequence[Buffer], placed: Sequence[BatchPlacement], size: int, now_ms: int) -> None:
        """Write to the active segment, or roll a new one if it is full or too old. On failure nothing has changed."""
        segment = self.segments.active
        last_offset = placed[-1].last_offset
        newest = placed[0].max_timestamp if len(placed) == 1 else max(each.max_timestamp for each in placed)
        settings = self.settings
        open_ms_max = settings.segment_ms - self._roll_jitter_ms
        if not segment.has_room_for(size, last_offset, newest, settings, open_ms_max=open_ms_max, now_ms=now_ms):
            segment = self._roll_at(placed[0].base_offset, now_ms)
        try:
            segment.append(pieces, placed)
        except OSError as error:
            failure = self.health.failure(error, f"appending to {self.topic_partition}")
            try:
                segment.truncate_torn_write()
            except OSError as second:
                self.health.failure(second, f"truncating a torn write to {self.topic_partition}")
            raise failure from error
        self.log_end_offset = last_offset + 1

    def _note_aborted(self, aborted: AbortedTransaction | None) -> None:
        if aborted is not None:
            self.segments.active.add_aborted(aborted)
            self.segments.has_aborted = True

    # Reading

    def locate(
        self, offset: int, *, max_bytes: int, end_offset: int, at_least_one_batch: bool = True
    ) -> LogSlice | None:
        """The batches from the one with `offset` on that are in its segment and below `end_offset`.

        None: there are none below `end_offset`, or the first is larger than `max_bytes` and not `at_least_one_batch`.
        """
        self.health.check()
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(
                f"offset {offset} of {self.topic_partition} is out of range: "
                f"the log starts at {self.log_start_offset} and ends at {self.log_end_offset}"
            )
        end_offset = min(end_offset, self.log_end_offset)
        if offset >= end_offset:
            return None
        try:
            slot, found = self._find(offset, end_offset)
            if found is None:
                return None
            segment = self.segments[slot]
            end = segment.valid_end_after(found.position)
            if end_offset < self.segments.end_offset_of(slot, self.log_end_offset):
                end = min(end, segment.position_of(end_offset))
        except OSError as error:
            raise self.health.failure(error, f"reading {self.topic_partition}") from error
        if end <= found.position or (found.size > max_bytes and not at_least_one_batch):
            return None
        size = min(end - found.position, max(max_bytes, found.size))
        if found.position >= segment.trusted_from:
            return LogSlice(segment, self.health, offset=offset, found=found, size=size)
        epoch = self.epochs.epoch_at(offset)
        return LogSlice(segment, self.health, offset=offset, found=found, size=size, expected_epoch=epoch)

    def _find(self, offset: int, end_offset: int) -> tuple[int, FoundBatch | None]:
        """The slot of a segment, and its batch with `offset` or the first offset after it."""
        slot = self.segments.floor_slot(offset)
        found: FoundBatch | None = None
        for candidate in range(slot, len(self.segments)):
            segment = self.segments[candidate]
            if segment.base_offset >= end_offset:
                break
            try:
                sought = segment.seek(offset)
            except DamagedRecords:
                if found is None:
                    raise
                break
            if sought is None:
                continue
            slot, found = candidate, sought
            # A segment may end in a batch that compaction emptied. Clients that get one empty batch after another might
            # conclude that a record is too large for their buffer, so such batches are skipped.
            if found.size > HEADER_SIZE or found.position + found.size < segment.size:
                break
        return slot, found

    def next_readable_offset(self, damage: Damage) -> int:
        """The next offset after damage from which a reader can continue."""
        if damage.next_offset is not None:
            return damage.next_offset
        later = (segment.base_offset for segment in self.segments if segment.base_offset > damage.first_offset)
        return next(later, self.log_end_offset)

    def aborted_transactions(self, start_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Aborted transactions with offsets in `[start_offset, end_offset)`, for read_committed consumers."""
        found: list[AbortedTransaction] = []
        if not self.segments.has_aborted:
            return found
        try:
            for slot in range(max(self.segments.floor_slot(start_offset), 0), len(self.segments)):
                segment = self.segments[slot]
                if segment.has_aborted and segment.transaction_index().collect(start_offset, end_offset, found):
                    break
        except OSError as error:
            raise self.health.failure(error, f"reading the aborted transactions of {self.topic_partition}") from error
        except CorruptIndex as error:
            raise CorruptMessage(
                f"the transaction index of {self.topic_partition} is damaged ({error}). "
                "Restart the broker, which rebuilds it from the batches"
            ) from error
        return found

    def offset_for_timestamp(self, timestamp: int) -> TimestampedOffset | None:
        """The first record at or after the timestamp."""
        self.health.check()
        return timestamp_lookup.first_at_or_after(self.segments, timestamp, start_offset=self.log_start_offset)

    def offset_of_max_timestamp(self) -> TimestampedOffset | None:
        self.health.check()
        return timestamp_lookup.of_max_timestamp(self.segments)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch at or below `epoch`; (-1, -1): unknown."""
        floor, end_offset = self.epochs.end_offset_for(epoch, self.log_end_offset)
        if self.log_start_offset < end_offset < self.log_end_offset:
            segments = list(self.segments)
            if not all(epoch_matches_batch(self.epochs, segments, offset) for offset in (end_offset - 1, end_offset)):
                self.epochs = read_epochs(segments)
                self.epochs.truncate_from_start(self.log_start_offset)
                return self.epochs.end_offset_for(epoch, self.log_end_offset)
        return floor, end_offset

    def verify(self) -> list[Damage]:
        """Read and check every batch. The time depends on the size of the log: run it on a worker or offline."""
        return verify_segments(list(self.segments))
