"""The log of one partition: appends as a leader or a follower, reads for consumers and followers.

Records below the log start offset cannot be read, even if their segment still exists. Records from the high watermark
on are not committed yet. The `end_offset` of a read keeps them from consumers, as well as records of open transactions.

Batches are not decoded: an append only needs their headers, and one vectored write. Call the log on the event loop
only; work that waits for the device is returned as a job (`begin_flush`, `SegmentStore.due_deletions`,
`LogSlice.read`).

The parts: `Segments` finds batches, `SegmentStore` changes the segments on disk, `FlushState` knows what is synced,
`ProducerState` refuses retries and gaps, `EpochCache` has the leader epochs. The log keeps them consistent.
"""

from collections.abc import Callable, Sequence

from barnabas.env import Disk
from barnabas.log import retention, timestamp_lookup
from barnabas.log.append_result import AppendResult
from barnabas.log.directory_health import DirectoryHealth
from barnabas.log.epoch_cache import EpochCache
from barnabas.log.epoch_check import checked_epochs
from barnabas.log.flush_state import FlushState
from barnabas.log.index_cache import IndexCache
from barnabas.log.jobs import FlushJob
from barnabas.log.log_slice import LogSlice
from barnabas.log.partition_metadata import write_topic_id
from barnabas.log.producer_rebuild import rebuild_producers, remove_stray_snapshots, replay_batch
from barnabas.log.producer_snapshot import snapshot_path, write_snapshot
from barnabas.log.producer_state import ProducerState
from barnabas.log.recovery import NEW_LOG, LoadedLog, LogCheckpoint, load_log
from barnabas.log.segment import BatchPlacement
from barnabas.log.segment_store import SegmentStore
from barnabas.log.segments import Segments
from barnabas.log.settings import LogSettings
from barnabas.log.timestamp_lookup import TimestampedOffset
from barnabas.log.transaction_index import AbortedTransaction
from barnabas.log.transactions import VerificationGuard
from barnabas.model import TopicId, TopicPartition
from barnabas.records.batch import (
    NO_LEADER_EPOCH,
    Batch,
    BatchHeader,
    Buffer,
    pack_offset_and_epoch_into,
    with_offsets,
)
from barnabas.records.control import EndTransactionMarker
from barnabas.wire.errors import InvalidRequest, OffsetOutOfRange, RecordListTooLarge


class PartitionLog:
    def __init__(
        self,
        disk: Disk,
        directory: str,
        topic_partition: TopicPartition,
        settings: LogSettings,
        loaded: LoadedLog,
        health: DirectoryHealth,
        cache: IndexCache,
    ) -> None:
        self.directory = directory
        self.topic_partition = topic_partition
        self.topic_id = loaded.topic_id
        self.settings = settings
        """Replaced when the topic's configs change."""
        self.health = health
        self._disk = disk

        # log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset
        self.log_start_offset = loaded.log_start_offset
        """The first offset that can be read, `>= segments[0].base_offset`. Lowered only by a truncation."""
        self.high_watermark = loaded.high_watermark
        """Every record below is committed. Raised by `replication.partition`, lowered only by a truncation."""
        self.log_end_offset = loaded.log_end_offset
        """The offset of the next record, `>= segments.active.base_offset`."""

        self.segments = Segments(loaded.segments)
        self.store = SegmentStore(disk, directory, self.segments, settings, health=health, cache=cache)
        self.flush_state = FlushState(disk, directory, health=health, recovery_point=loaded.recovery_point)
        self.producers: ProducerState = loaded.producers
        """Of all batches: `producers.end_offset == log_end_offset`."""
        self.epochs: EpochCache = loaded.epochs
        """Of the batches from the log start offset on; the latest one may have no batch yet."""
        self.on_truncated: Callable[[], None] = lambda: None
        """Must write the checkpoints: the old recovery point would count new records as synced."""
        self._end_at_clean_close = loaded.end_at_clean_close
        """The log end offset at the last clean shutdown; -1 if it was unclean, or the log was truncated since."""

    @classmethod
    def open(
        cls,
        disk: Disk,
        directory: str,
        topic_partition: TopicPartition,
        settings: LogSettings,
        checkpoint: LogCheckpoint = NEW_LOG,
        *,
        now_ms: int,
        topic_id: TopicId | None = None,
        health: DirectoryHealth | None = None,
        cache: IndexCache | None = None,
    ) -> "PartitionLog":
        """Open the log, or create it. After an unclean shutdown this scans everything that may not have been synced.

        Uses only its own files and `cache`, so a long recovery can run on a worker with a separate cache.
        """
        health = health or DirectoryHealth(directory.rpartition("/")[0])
        cache = cache or IndexCache()
        health.check()
        with health.storage_errors(f"opening {directory}"):
            loaded = load_log(disk, directory, settings, checkpoint, topic_id=topic_id, now_ms=now_ms, cache=cache)
        return cls(disk, directory, topic_partition, settings, loaded, health, cache)

    def __repr__(self) -> str:
        return f"PartitionLog({self.topic_partition}, {self.log_start_offset}..{self.log_end_offset})"

    @property
    def size(self) -> int:
        """Size of all segments in bytes."""
        return self.segments.size

    @property
    def last_stable_offset(self) -> int:
        """Below it every transaction has ended and its marker is committed; `<= high_watermark`."""
        transactions = self.producers.transactions
        if not transactions:
            return self.high_watermark
        unstable = transactions.first_unstable(self.high_watermark)
        if unstable is None:
            return self.high_watermark
        return min(max(unstable, self.log_start_offset), self.high_watermark)

    def assign_topic_id(self, topic_id: TopicId) -> None:
        """For a log without a `partition.metadata` file, which may be lost in a crash."""
        with self.health.storage_errors(f"writing the topic id of {self.topic_partition}"):
            write_topic_id(self._disk, self.directory, topic_id)
        self.topic_id = topic_id
        self.flush_state.has_synced_directory = False

    # Appending

    def append(
        self, batches: Sequence[Batch], *, leader_epoch: int, now_ms: int, guard: VerificationGuard | None = None
    ) -> AppendResult:
        """Append as the leader: assigns offsets, detects retries of idempotent producers and refuses gaps in sequences.

        The first batch of a transaction needs the `guard` that `producers.begin_verification` returned.
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
        self.store.append(pieces, placed, size, self.producers, self.settings, now_ms)
        self.log_end_offset = offset
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

    def append_in_place(self, header: BatchHeader, batch: memoryview, leader_epoch: int, now_ms: int) -> bool:
        """The fast path of `append`, for one ordinary batch whose buffer may be changed.

        Ordinary: not in a transaction, the next batch of an idempotent producer or from a non-idempotent one, in the
        latest leader epoch, and with room in the active segment. False if it is not, or if the write fails: nothing has
        changed then, and `append` handles it or raises the error.
        """
        segment = self.segments.active
        offset = self.log_end_offset
        last_offset = offset + header.last_offset_delta
        is_idempotent = header.producer_id >= 0
        if (
            (is_idempotent and not self.producers.is_next(header))
            or leader_epoch != self.epochs.latest_epoch
            or self.health.error is not None
            or not segment.has_room_for(len(batch), last_offset, header.max_timestamp, self.settings, now_ms)
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
            self.store.append([batch.data], [placed], placed.size, self.producers, self.settings, now_ms)
            self.log_end_offset = header.next_offset
            self.epochs.assign(header.leader_epoch, header.base_offset)
            if header.producer_id >= 0:
                self._note_aborted(replay_batch(self.producers, batch))
            self.producers.end_offset = self.log_end_offset
        return AppendResult(
            first.base_offset, self.log_end_offset - 1, -1, self.log_start_offset, self.epochs.latest_epoch, False
        )

    def roll(self, now_ms: int) -> None:
        """Seal the active segment and continue in a new one, unless it is empty."""
        self.health.check()
        if self.segments.active.size > 0:
            self.store.roll(self.log_end_offset, self.producers, self.settings, now_ms)

    def _note_aborted(self, aborted: AbortedTransaction | None) -> None:
        if aborted is not None:
            self.segments.active.indexes.add_aborted(aborted)
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
        try:
            found = self.segments.find(offset, min(end_offset, self.log_end_offset), self.log_end_offset)
        except OSError as error:
            raise self.health.failure(error, f"reading {self.topic_partition}") from error
        if found is None:
            return None
        segment, batch, end = found
        if end <= batch.position or (batch.size > max_bytes and not at_least_one_batch):
            return None
        size = min(end - batch.position, max(max_bytes, batch.size))
        epoch = NO_LEADER_EPOCH if batch.position >= segment.trusted_from else self.epochs.epoch_at(offset)
        return LogSlice(segment, self.health, offset=offset, found=batch, size=size, expected_epoch=epoch)

    def aborted_transactions(self, start_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Aborted transactions with offsets in `[start_offset, end_offset)`, for read_committed consumers."""
        if not self.segments.has_aborted:
            return []
        with self.health.storage_errors(f"reading the aborted transactions of {self.topic_partition}"):
            return self.segments.aborted_between(start_offset, end_offset)

    def offset_for_timestamp(self, timestamp: int) -> TimestampedOffset | None:
        """The first record at or after the timestamp."""
        self.health.check()
        return timestamp_lookup.first_at_or_after(self.segments, timestamp, start_offset=self.log_start_offset)

    def offset_of_max_timestamp(self) -> TimestampedOffset | None:
        self.health.check()
        return timestamp_lookup.of_max_timestamp(self.segments)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch at or below `epoch`; (-1, -1): unknown."""
        _, end_offset = self.epochs.end_offset_for(epoch, self.log_end_offset)
        if self.log_start_offset < end_offset < self.log_end_offset:
            self.epochs = checked_epochs(self.epochs, list(self.segments), end_offset, self.log_start_offset)
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    # Deleting from the start

    def delete_records(self, offset: int) -> int:
        """Raise the log start offset to `offset` (-1: the high watermark); returns the new log start offset."""
        self.health.check()
        if offset == -1:
            offset = self.high_watermark
        if not 0 <= offset <= self.high_watermark:
            raise OffsetOutOfRange(
                f"records of {self.topic_partition} up to offset {offset} cannot be deleted: "
                f"the high watermark is {self.high_watermark}"
            )
        self._raise_log_start(offset)
        return self.log_start_offset

    def delete_old_segments(self, now_ms: int) -> int:
        """Apply retention; returns the number of deleted segments. `due_deletions` removes their files later."""
        self.health.check()
        with self.health.storage_errors(f"looking for old segments of {self.topic_partition}"):
            to_delete = retention.deletable_segments(
                self.segments,
                self.settings,
                log_start_offset=self.log_start_offset,
                high_watermark=self.high_watermark,
                log_end_offset=self.log_end_offset,
                now_ms=now_ms,
            )
        if not to_delete:
            return 0
        if to_delete[-1] is self.segments.active:
            self.roll(now_ms)
        self._raise_log_start(self.segments[len(to_delete)].base_offset)
        self.store.delete_oldest(to_delete, self.settings, now_ms)
        return len(to_delete)

    def _raise_log_start(self, offset: int) -> None:
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.epochs.truncate_from_start(offset)

    # Truncating the end

    def truncate_to(self, offset: int, now_ms: int) -> bool:
        """Drop every batch with `offset` or a later one; False: there was none.

        Leader epochs and producer state are truncated too. Below the first segment, everything is dropped.
        """
        self.health.check()
        if offset >= self.log_end_offset:
            self.epochs.truncate_from_end(self.log_end_offset)
            return False
        if offset < self.segments[0].base_offset:
            self.truncate_fully_and_start_at(offset, now_ms)
            return True
        log_end_offset = self.store.truncate_to(offset, self.settings, now_ms)
        self._after_truncation(min(self.log_start_offset, log_end_offset), log_end_offset)
        return True

    def truncate_fully_and_start_at(self, offset: int, now_ms: int) -> None:
        """Drop everything; the next append gets `offset`."""
        self.health.check()
        self.store.restart_at(offset, self.settings, now_ms)
        self.epochs.clear()
        self._after_truncation(offset, offset)

    def _after_truncation(self, log_start_offset: int, log_end_offset: int) -> None:
        self.log_start_offset, self.log_end_offset = log_start_offset, log_end_offset
        self.high_watermark = min(max(self.high_watermark, log_start_offset), log_end_offset)
        self._end_at_clean_close = -1
        self.flush_state.truncate_to(log_end_offset)
        self.epochs.truncate_from_end(log_end_offset)
        with self.health.storage_errors(f"rebuilding the producer state of {self.topic_partition}"):
            self.producers = rebuild_producers(
                self._disk,
                self.directory,
                list(self.segments),
                log_start_offset=log_start_offset,
                end_offset=log_end_offset,
            )
        self.on_truncated()

    # Flushing

    @property
    def checkpointed_recovery_point(self) -> int:
        return self.flush_state.checkpointed_recovery_point(self.segments, self.log_end_offset)

    def begin_flush(self) -> FlushJob | None:
        """A job that syncs everything in the log; None if all is synced, or a flush is running."""
        return self.flush_state.begin(self.segments, self.epochs, self.log_end_offset)

    def finish_flush(self, job: FlushJob) -> None:
        """Update the log after a job has run."""
        self.flush_state.finish(job, self.log_end_offset)

    def flush(self) -> None:
        """Flush in this thread."""
        self.flush_state.run(self.segments, self.epochs, self.log_end_offset)

    # Closing

    def close(self, *, clean: bool) -> None:
        """`clean`: write and sync everything with a producer snapshot, so that nothing is scanned at the next start.

        No job or slice of this log may be in use.
        """
        try:
            if clean and not self.health.is_offline:
                with self.health.storage_errors(f"closing {self.topic_partition}"):
                    if self.log_end_offset != self._end_at_clean_close or self.epochs.dirty:
                        self._write_everything()
                    for job in self.store.due_deletions(2**63):
                        job.run()
        finally:
            for file in self.store.detach():
                file.close()

    def _write_everything(self) -> None:
        self.segments.active.seal()
        self.epochs.dirty = True  # Kafka expects the file even if there is no epoch
        write_snapshot(self._disk, self.directory, self.log_end_offset, self.producers.producers)
        remove_stray_snapshots(self._disk, self.directory, list(self.segments))
        snapshot = snapshot_path(self.directory, self.log_end_offset)
        self.flush_state.run(self.segments, self.epochs, self.log_end_offset, also=[snapshot])
