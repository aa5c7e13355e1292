"""Removing records: retention and deleted records at the start of a log, truncation at its end, compaction in between.

The order of changes on disk, so that a crash at any point leaves a log without gaps:
- retention removes the oldest segments first, truncation the newest;
- segments are deleted by renaming them to `.deleted`; the files are removed after `file.delete.delay.ms`, when they are
  no longer read;
- a truncation is synced at once, first the renames of whole segments, then the segment that was truncated: removed
  records must not come back after new ones.
"""

import logging
from collections.abc import Sequence

from barnabas.log import retention
from barnabas.log.file_names import DELETED, SWAP
from barnabas.log.jobs import DeletionJob
from barnabas.log.producer_rebuild import rebuild_producers
from barnabas.log.producer_snapshot import list_snapshots, snapshot_path
from barnabas.log.segment import Segment
from barnabas.log.segments import Segments
from barnabas.log.stored_log import StoredLog
from barnabas.wire.errors import OffsetOutOfRange

logger = logging.getLogger(__name__)


class TrimmableLog(StoredLog):
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
        try:
            to_delete = retention.deletable_segments(
                self.segments,
                self.settings,
                log_start_offset=self.log_start_offset,
                high_watermark=self.high_watermark,
                log_end_offset=self.log_end_offset,
                now_ms=now_ms,
            )
        except OSError as error:
            raise self.health.failure(error, f"looking for old segments of {self.topic_partition}") from error
        if not to_delete:
            return 0
        if to_delete[-1] is self.segments.active:
            self._roll_at(self.log_end_offset, now_ms)
        self._raise_log_start(self.segments[len(to_delete)].base_offset)
        self.segments.remove(to_delete)
        self._delete_later(to_delete, now_ms)
        logger.info(
            "%s: deleted %d segments, the log start offset is now %d",
            self.topic_partition,
            len(to_delete),
            self.log_start_offset,
        )
        return len(to_delete)

    def _raise_log_start(self, offset: int) -> None:
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.epochs.truncate_from_start(offset)

    def _delete_later(self, to_delete: Sequence[Segment], now_ms: int, *, delay_ms: int | None = None) -> None:
        files = []
        paths = []
        try:
            for segment in to_delete:
                files += segment.mark_deleted()
                paths += segment.existing_paths()
                snapshot = snapshot_path(self.directory, segment.base_offset)
                if self._disk.exists(snapshot):
                    self._disk.rename(snapshot, snapshot + DELETED)
                    paths.append(snapshot + DELETED)
        except OSError as error:
            raise self.health.failure(error, f"deleting segments of {self.topic_partition}") from error
        due_ms = now_ms + (self.settings.file_delete_delay_ms if delay_ms is None else delay_ms)
        self._deletions.append(DeletionJob(self._disk, due_ms, files, paths, self.directory))

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
        slot = self.segments.floor_slot(offset)
        to_delete = self.segments.from_slot(slot + 1)
        try:
            if to_delete:
                self._delete_later(to_delete[::-1], now_ms)
                self.segments.remove(to_delete)
                self._disk.sync_dir(self.directory)  # else a crash could bring them back after a shorter segment
            active = self.segments.active
            self.log_end_offset = active.truncate_to(offset)
            active.file.sync()
            active.activate(self.log_end_offset)
        except OSError as error:
            raise self.health.failure(error, f"truncating {self.topic_partition}") from error
        self.log_start_offset = min(self.log_start_offset, self.log_end_offset)
        self._after_truncation()
        return True

    def truncate_fully_and_start_at(self, offset: int, now_ms: int) -> None:
        """Drop everything; the next append gets `offset`."""
        self.health.check()
        to_delete = list(self.segments)
        try:
            self._delete_later(to_delete[::-1], now_ms)
            new = Segment.create(
                self._disk,
                self.directory,
                offset,
                index_interval_bytes=self.settings.index_interval_bytes,
                now_ms=now_ms,
                cache=self._cache,
            )
            for snapshot in list_snapshots(self._disk, self.directory):
                self._disk.remove(snapshot_path(self.directory, snapshot))
            self._disk.sync_dir(self.directory)
        except OSError as error:
            raise self.health.failure(error, f"truncating {self.topic_partition}") from error
        self.segments = Segments([new])
        self.log_start_offset = self.log_end_offset = offset
        self.epochs.clear()
        self._after_truncation()

    def _after_truncation(self) -> None:
        end_offset = self.log_end_offset
        self._end_at_clean_close = -1
        self._directory_synced = False
        self.high_watermark = min(max(self.high_watermark, self.log_start_offset), end_offset)
        self.recovery_point = min(self.recovery_point, end_offset)
        self.epochs.truncate_from_end(end_offset)
        self._roll_jitter_ms = self._jitter_of(self.segments.active)
        try:
            self.producers = rebuild_producers(
                self._disk,
                self.directory,
                list(self.segments),
                log_start_offset=self.log_start_offset,
                end_offset=end_offset,
            )
        except OSError as error:
            raise self.health.failure(error, f"rebuilding the producer state of {self.topic_partition}") from error
        self.on_truncated()

    # Compacting

    def replace_segments(self, cleaned: Sequence[Segment], old: Sequence[Segment], now_ms: int) -> None:
        """Replace adjacent sealed segments with the cleaned ones that were made from them.

        `cleaned` have the suffix `.cleaned`, are sealed and synced, and begin at the base offset of `old[0]`. They are
        renamed to `.swap` first: from then on, an interrupted replacement is completed when the log is opened.
        """
        self.health.check()
        if any(not segment.sealed for segment in (*old, *cleaned)) or cleaned[0].base_offset != old[0].base_offset:
            raise ValueError("only sealed segments can be replaced, by sealed segments that begin at the same offset")
        snapshots = {segment.base_offset for segment in cleaned}
        try:
            for segment in reversed(cleaned):
                segment.change_suffix(SWAP)
            self.segments.replace(old, cleaned)
            files = []
            paths = []
            for segment in old:
                files += segment.mark_deleted()
                paths += segment.existing_paths()
                if segment.base_offset not in snapshots:
                    snapshot = snapshot_path(self.directory, segment.base_offset)
                    if self._disk.exists(snapshot):
                        self._disk.rename(snapshot, snapshot + DELETED)
                        paths.append(snapshot + DELETED)
            for segment in cleaned:
                segment.change_suffix("")
        except OSError as error:
            raise self.health.failure(error, f"replacing segments of {self.topic_partition}") from error
        due_ms = now_ms + self.settings.file_delete_delay_ms
        self._deletions.append(DeletionJob(self._disk, due_ms, files, paths, self.directory))
