"""The segments of one log on disk: appends to the active one, rolls, truncates, replaces and deletes them.

The order of changes on disk, so that a crash at any point leaves a log without gaps:
- retention removes the oldest segments first, truncation the newest;
- segments are deleted by renaming them to `.deleted`; the files are removed after `file.delete.delay.ms`, when they are
  no longer read;
- a truncation is synced at once, first the renames of whole segments, then the segment that was truncated: removed
  records must not come back after new ones.
"""

import logging
import zlib
from collections.abc import Collection, Sequence

from barnabas.env import Disk, File
from barnabas.log.directory_health import DirectoryHealth
from barnabas.log.file_names import CLEANED, DELETED, SWAP, TXN_INDEX
from barnabas.log.index_cache import IndexCache
from barnabas.log.jobs import DeletionJob
from barnabas.log.producer_snapshot import list_snapshots, snapshot_path, write_snapshot
from barnabas.log.producer_state import ProducerState
from barnabas.log.segment import BatchPlacement, Segment
from barnabas.log.segments import Segments
from barnabas.log.settings import LogSettings
from barnabas.records.batch import Buffer

logger = logging.getLogger(__name__)


class SegmentStore:
    __slots__ = ("_cache", "_deletions", "_directory", "_disk", "_health", "_segments")

    def __init__(
        self,
        disk: Disk,
        directory: str,
        segments: Segments,
        settings: LogSettings,
        *,
        health: DirectoryHealth,
        cache: IndexCache,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._segments = segments
        self._health = health
        self._cache = cache
        self._deletions: list[DeletionJob] = []
        """For files that were renamed to `.deleted`."""
        self._set_roll_jitter(settings)

    def append(
        self,
        pieces: Sequence[Buffer],
        placed: Sequence[BatchPlacement],
        size: int,
        producers: ProducerState,
        settings: LogSettings,
        now_ms: int,
    ) -> None:
        """Write to the active segment, or roll a new one if it is full or too old. On failure nothing has changed."""
        segment = self._segments.active
        newest = placed[0].max_timestamp if len(placed) == 1 else max(each.max_timestamp for each in placed)
        if not segment.has_room_for(size, placed[-1].last_offset, newest, settings, now_ms):
            segment = self.roll(placed[0].base_offset, producers, settings, now_ms)
        try:
            segment.append(pieces, placed)
        except OSError as error:
            failure = self._health.failure(error, f"appending to {self._directory}")
            try:
                segment.truncate_torn_write()
            except OSError as second:
                self._health.failure(second, f"truncating a torn write to {self._directory}")
            raise failure from error

    def roll(self, base_offset: int, producers: ProducerState, settings: LogSettings, now_ms: int) -> Segment:
        """Seal the active segment and continue in a new one, unless it is empty and begins there.

        Each step may fail on a full disk and be retried; only the last one changes the log.
        """
        old = self._segments.active
        if old.size == 0 and old.base_offset == base_offset:
            return old
        with self._health.storage_errors(f"rolling {self._directory}"):
            old.indexes.finish_time_index()
            old.indexes.persist()
            write_snapshot(self._disk, self._directory, base_offset, producers.producers)
            new = self._create(base_offset, settings, now_ms)
            old.seal()
        self._segments.append(new)
        self._set_roll_jitter(settings)
        return new

    def _create(self, base_offset: int, settings: LogSettings, now_ms: int) -> Segment:
        return Segment.create(
            self._disk,
            self._directory,
            base_offset,
            index_interval_bytes=settings.index_interval_bytes,
            now_ms=now_ms,
            cache=self._cache,
        )

    def _set_roll_jitter(self, settings: LogSettings) -> None:
        """Spread the rolls of partitions that were created together. Deterministic."""
        active, jitter_ms = self._segments.active, settings.segment_jitter_ms
        seed = f"{self._directory.rpartition('/')[2]}/{active.base_offset}"
        active.roll_jitter_ms = zlib.crc32(seed.encode()) % jitter_ms if jitter_ms > 0 else 0

    # Deleting

    def delete_oldest(self, to_delete: Sequence[Segment], settings: LogSettings, now_ms: int) -> None:
        self._segments.remove(to_delete)
        with self._health.storage_errors(f"deleting segments of {self._directory}"):
            self._delete_files(to_delete, now_ms + settings.file_delete_delay_ms)
        first = self._segments[0]
        logger.info("%s: deleted %d segments; the first is now %s", self._directory, len(to_delete), first)

    def _delete_files(self, to_delete: Sequence[Segment], due_ms: int, *, keep_snapshots: Collection[int] = ()) -> None:
        """Rename the files of the segments and their producer snapshots, to be removed when `due_ms` has come."""
        files: list[File] = []
        paths: list[str] = []
        for segment in to_delete:
            files += segment.mark_deleted()
            paths += segment.files.existing_paths()
            snapshot = snapshot_path(self._directory, segment.base_offset)
            if segment.base_offset not in keep_snapshots and self._disk.exists(snapshot):
                self._disk.rename(snapshot, snapshot + DELETED)
                paths.append(snapshot + DELETED)
        self._deletions.append(DeletionJob(self._disk, due_ms, files, paths, self._directory))

    def due_deletions(self, now_ms: int) -> list[DeletionJob]:
        """Jobs whose delay has passed; run each once, on a worker."""
        due = [job for job in self._deletions if job.due_ms <= now_ms]
        self._deletions = [job for job in self._deletions if job.due_ms > now_ms]
        return due

    # Truncating

    def truncate_to(self, offset: int, settings: LogSettings, now_ms: int) -> int:
        """Drop every batch with `offset` or a later one; returns the new log end offset.

        `offset` must not be below the first segment.
        """
        to_delete = self._segments.from_slot(self._segments.floor_slot(offset) + 1)
        with self._health.storage_errors(f"truncating {self._directory}"):
            if to_delete:
                self._delete_files(to_delete[::-1], now_ms + settings.file_delete_delay_ms)
                self._segments.remove(to_delete)
                self._disk.sync_dir(self._directory)  # else a crash could bring them back after a shorter segment
            active = self._segments.active
            log_end_offset = active.truncate_to(offset)
            active.file.sync()
            if active.finder.find_end().next_offset == log_end_offset:
                active.activate(log_end_offset)
            else:
                # Offsets are missing before the end. In the same segment, a torn batch after the gap would look like a
                # damaged one in the gap, and that was synced.
                active.seal()
                self._segments.append(self._create(log_end_offset, settings, now_ms))
                self._disk.sync_dir(self._directory)
        self._set_roll_jitter(settings)
        return log_end_offset

    def restart_at(self, offset: int, settings: LogSettings, now_ms: int) -> None:
        """Drop everything; the next batch has `offset`."""
        with self._health.storage_errors(f"truncating {self._directory}"):
            self._delete_files(list(self._segments)[::-1], now_ms + settings.file_delete_delay_ms)
            new = self._create(offset, settings, now_ms)
            for snapshot in list_snapshots(self._disk, self._directory):
                self._disk.remove(snapshot_path(self._directory, snapshot))
            self._disk.sync_dir(self._directory)
        self._segments.reset([new])
        self._set_roll_jitter(settings)

    # Compacting

    def open_cleaned(self, base_offset: int, size: int, settings: LogSettings, now_ms: int) -> Segment:
        """A segment that the compaction worker wrote, with the suffix `.cleaned`."""
        cleaned = Segment(
            self._disk,
            self._directory,
            base_offset,
            size=size,
            index_interval_bytes=settings.index_interval_bytes,
            created_ms=now_ms,
            cache=self._cache,
            suffix=CLEANED,
        )
        cleaned.indexes.has_aborted = self._disk.exists(cleaned.path(TXN_INDEX))
        return cleaned

    def replace(self, cleaned: Sequence[Segment], old: Sequence[Segment], settings: LogSettings, now_ms: int) -> None:
        """Replace adjacent sealed segments with the cleaned ones that were made from them.

        `cleaned` have the suffix `.cleaned`, are sealed and synced, and begin at the base offset of `old[0]`. They are
        renamed to `.swap` first: from then on, an interrupted replacement is completed when the log is opened.
        """
        self._health.check()
        if any(not segment.sealed for segment in (*old, *cleaned)) or cleaned[0].base_offset != old[0].base_offset:
            raise ValueError("only sealed segments can be replaced, by sealed segments that begin at the same offset")
        with self._health.storage_errors(f"replacing segments of {self._directory}"):
            for segment in reversed(cleaned):
                segment.files.change_suffix(SWAP)
            self._segments.replace(old, cleaned)
            kept = {segment.base_offset for segment in cleaned}
            self._delete_files(old, now_ms + settings.file_delete_delay_ms, keep_snapshots=kept)
            for segment in cleaned:
                segment.files.change_suffix("")

    # Sharing and closing

    def join_cache(self, cache: IndexCache) -> None:
        """Move the indexes to the shared cache, after the log was opened with a separate one."""
        self._cache = cache
        for segment in self._segments:
            segment.indexes.join_cache(cache)

    def detach(self) -> list[File]:
        """Return the open files, for the caller to close when they are no longer read."""
        return [file for segment in self._segments for file in segment.detach()]
