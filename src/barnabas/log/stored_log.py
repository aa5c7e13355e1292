"""The base class of a partition's log: opening, rolling, flushing and closing.

`TrimmableLog` adds retention and truncation, `PartitionLog` appends and reads.

A sealed segment's `.log`, indexes, producer snapshot and the directory are synced before the checkpointed recovery
point passes it. Of the active segment only the `.log` is synced: its indexes are rebuilt after a crash anyway.
"""

import logging
import zlib
from collections.abc import Callable, Sequence
from typing import Self

from barnabas.env import Disk, File
from barnabas.log.directory_health import DirectoryHealth
from barnabas.log.epoch_cache import FILE_NAME as EPOCH_FILE_NAME
from barnabas.log.epoch_cache import EpochCache
from barnabas.log.file_names import INDEX_KINDS
from barnabas.log.index_cache import IndexCache
from barnabas.log.jobs import DeletionJob, FlushJob
from barnabas.log.partition_metadata import FILE_NAME as METADATA_FILE_NAME
from barnabas.log.partition_metadata import read_topic_id, write_topic_id
from barnabas.log.producer_rebuild import remove_stray_snapshots
from barnabas.log.producer_snapshot import snapshot_path, write_snapshot
from barnabas.log.producer_state import ProducerState
from barnabas.log.recovery import LoadedLog, load_log
from barnabas.log.segment import Segment
from barnabas.log.segments import Segments
from barnabas.log.settings import LogSettings
from barnabas.model import TopicId, TopicPartition

logger = logging.getLogger(__name__)


class StoredLog:
    def __init__(
        self,
        disk: Disk,
        directory: str,
        topic_partition: TopicPartition,
        settings: LogSettings,
        loaded: LoadedLog,
        *,
        topic_id: TopicId | None,
        high_watermark: int,
        health: DirectoryHealth,
        cache: IndexCache,
        clean_shutdown: bool,
        now_ms: int,
    ) -> None:
        self.directory = directory
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.settings = settings
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.high_watermark = min(max(high_watermark, loaded.log_start_offset), loaded.log_end_offset)
        """Raised by `replication.partition`; lowered only by a truncation."""
        self.recovery_point = loaded.recovery_point
        """Every batch below is synced."""
        self.last_flush_ms = now_ms
        self.on_truncated: Callable[[], None] = lambda: None
        """Must write the checkpoints: the old recovery point would count new records as synced."""
        self.health = health
        self.producers: ProducerState = loaded.producers
        self.epochs: EpochCache = loaded.epochs
        self.segments = Segments(loaded.segments)
        self._disk = disk
        self._cache = cache
        self._roll_jitter_ms = self._jitter_of(self.segments.active)
        self._flushing = False
        self._directory_synced = False
        self._end_at_clean_close = loaded.log_end_offset if clean_shutdown else -1
        """The log end offset at the last clean shutdown; -1 if it was unclean, or the log was truncated since."""
        self._deletions: list[DeletionJob] = []

    @classmethod
    def open(
        cls,
        disk: Disk,
        directory: str,
        topic_partition: TopicPartition,
        settings: LogSettings,
        *,
        now_ms: int,
        clean_shutdown: bool = True,
        recovery_point: int | None = None,
        recovery_point_is_lost: bool = False,
        log_start_offset: int = 0,
        high_watermark: int = 0,
        topic_id: TopicId | None = None,
        health: DirectoryHealth | None = None,
        cache: IndexCache | None = None,
    ) -> Self:
        """Open the log, or create it. After an unclean shutdown this scans everything that may not have been synced.

        Uses only its own files and `cache`, so a long recovery can run on a worker with a separate cache.
        """
        health = health or DirectoryHealth(directory.rpartition("/")[0])
        cache = cache or IndexCache()
        health.check()
        try:
            disk.make_dirs(directory)
            stored_topic_id = read_topic_id(disk, directory)
            if stored_topic_id is None and topic_id is not None:
                write_topic_id(disk, directory, topic_id)
                stored_topic_id = topic_id
            loaded = load_log(
                disk,
                directory,
                settings,
                now_ms=now_ms,
                clean_shutdown=clean_shutdown,
                recovery_point=recovery_point,
                recovery_point_is_lost=recovery_point_is_lost,
                log_start_offset=log_start_offset,
                cache=cache,
            )
        except OSError as error:
            raise health.failure(error, f"opening {directory}") from error
        return cls(
            disk,
            directory,
            topic_partition,
            settings,
            loaded,
            topic_id=stored_topic_id,
            high_watermark=high_watermark,
            health=health,
            cache=cache,
            clean_shutdown=clean_shutdown,
            now_ms=now_ms,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.topic_partition}, {self.log_start_offset}..{self.log_end_offset})"

    @property
    def size(self) -> int:
        """Size of all segments in bytes."""
        return self.segments.size

    @property
    def latest_epoch(self) -> int:
        """The latest leader epoch of the log; -1: none."""
        return self.epochs.latest_epoch

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

    @property
    def unflushed_messages(self) -> int:
        return self.log_end_offset - self.recovery_point

    def assign_topic_id(self, topic_id: TopicId) -> None:
        """For a log without a `partition.metadata` file, which may be lost in a crash."""
        try:
            write_topic_id(self._disk, self.directory, topic_id)
        except OSError as error:
            raise self.health.failure(error, f"writing the topic id of {self.topic_partition}") from error
        self.topic_id = topic_id
        self._directory_synced = False

    # Rolling

    def roll(self, now_ms: int) -> None:
        """Seal the active segment and continue in a new one, unless it is empty."""
        self.health.check()
        if self.segments.active.size > 0:
            self._roll_at(self.log_end_offset, now_ms)

    def _roll_at(self, base_offset: int, now_ms: int) -> Segment:
        """Each step may fail on a full disk and be retried; only the last one changes the log."""
        old = self.segments.active
        if old.size == 0 and old.base_offset == base_offset:
            return old
        try:
            old.finish_time_index()
            old.persist_indexes()
            write_snapshot(self._disk, self.directory, base_offset, self.producers.producers)
            new = Segment.create(
                self._disk,
                self.directory,
                base_offset,
                index_interval_bytes=self.settings.index_interval_bytes,
                now_ms=now_ms,
                cache=self._cache,
            )
            old.seal()
        except OSError as error:
            raise self.health.failure(error, f"rolling {self.topic_partition}") from error
        self.segments.append(new)
        self._roll_jitter_ms = self._jitter_of(new)
        return new

    def _jitter_of(self, segment: Segment) -> int:
        """Spreads the rolls of partitions that were created together. Deterministic."""
        jitter_ms = self.settings.segment_jitter_ms
        return zlib.crc32(f"{self.topic_partition}/{segment.base_offset}".encode()) % jitter_ms if jitter_ms > 0 else 0

    # Flushing

    @property
    def checkpointed_recovery_point(self) -> int:
        """The recovery point for the checkpoint: at most within the first segment that is not sealed and fully synced.

        So that segment is scanned after a crash, even if the next batch goes to a new one.
        """
        active = self.segments.active
        unsynced = self._unsynced()
        if unsynced:
            return min(self.recovery_point, unsynced[0].base_offset)
        if active.sealed or active.size == 0:
            return self.recovery_point
        return min(self.recovery_point, max(active.base_offset, self.log_end_offset - 1))

    def _unsynced(self) -> list[Segment]:
        """Sealed segments that may not be synced; always the newest of the sealed ones."""
        first = last = len(self.segments) if self.segments.active.sealed else len(self.segments) - 1
        while first > 0 and not self.segments[first - 1].synced:
            first -= 1
        return [self.segments[slot] for slot in range(first, last)]

    def begin_flush(self, now_ms: int, *, also: Sequence[str] = ()) -> FlushJob | None:
        """A job that syncs everything in the log; None if all is synced, or a flush is running."""
        self.health.check()
        unsynced = self._unsynced()
        if self._flushing or (self.recovery_point >= self.log_end_offset and not unsynced and self._directory_synced):
            return None
        directories = [self.directory]
        paths = [snapshot_path(self.directory, segment.base_offset) for segment in (*unsynced, self.segments.active)]
        paths += [segment.path(kind) for segment in unsynced for kind in INDEX_KINDS]
        try:
            if self.epochs.dirty:
                self.epochs.persist(self._disk, self.directory)
                paths.append(f"{self.directory}/{EPOCH_FILE_NAME}")
            elif self._directory_synced and not unsynced:
                directories = []
                paths = []
            if not self._directory_synced:
                directories.append(self.directory.rpartition("/")[0])
                paths.append(f"{self.directory}/{METADATA_FILE_NAME}")
        except OSError as error:
            raise self.health.failure(error, f"flushing {self.topic_partition}") from error
        paths += also
        self._flushing = True
        return FlushJob(
            self._disk,
            target_offset=self.log_end_offset,
            sealed=unsynced,
            files=[segment.file for segment in (*unsynced, self.segments.active)],
            paths=paths,
            directories=directories,
            now_ms=now_ms,
        )

    def finish_flush(self, job: FlushJob) -> None:
        """Update the log after a job has run. A failed sync takes the directory offline: dirty pages may be lost."""
        self._flushing = False
        if job.error is not None:
            raise self.health.failure(job.error, f"syncing {self.topic_partition}") from job.error
        for segment in job.sealed:
            segment.synced = True
        self._directory_synced = True
        self.recovery_point = max(self.recovery_point, min(job.target_offset, self.log_end_offset))
        self.last_flush_ms = job.now_ms

    def flush(self, now_ms: int) -> None:
        """Flush in this thread."""
        job = self.begin_flush(now_ms)
        if job is not None:
            job.run()
            self.finish_flush(job)

    def due_deletions(self, now_ms: int) -> list[DeletionJob]:
        """Jobs whose delay has passed; run each once, on a worker."""
        due = [job for job in self._deletions if job.due_ms <= now_ms]
        self._deletions = [job for job in self._deletions if job.due_ms > now_ms]
        return due

    def expire_producers(self, now_ms: int) -> None:
        self.producers.expire(now_ms, self.settings.producer_id_expiration_ms)

    # Closing

    def close(self, *, clean: bool, now_ms: int) -> None:
        """`clean`: write and sync everything with a producer snapshot, so that nothing is scanned at the next start.

        No job or slice of this log may be in use.
        """
        try:
            if clean and not self.health.is_offline:
                if self.log_end_offset != self._end_at_clean_close or self.epochs.dirty:
                    self._write_everything(now_ms)
                for job in self.due_deletions(2**63):
                    job.run()
        except OSError as error:
            raise self.health.failure(error, f"closing {self.topic_partition}") from error
        finally:
            for file in self.detach():
                file.close()

    def _write_everything(self, now_ms: int) -> None:
        self.segments.active.seal()
        self.epochs.dirty = True  # Kafka expects the file even if there is no epoch
        write_snapshot(self._disk, self.directory, self.log_end_offset, self.producers.producers)
        remove_stray_snapshots(self._disk, self.directory, list(self.segments))
        job = self.begin_flush(now_ms, also=[snapshot_path(self.directory, self.log_end_offset)])
        if job is not None:
            job.run()
            self.finish_flush(job)

    def join_cache(self, cache: IndexCache) -> None:
        self._cache = cache
        for segment in self.segments:
            segment.join_cache(cache)

    def detach(self) -> list[File]:
        """Return the open files, for the caller to close when they are no longer read."""
        return [file for segment in self.segments for file in segment.detach()]
