"""Log compaction in the broker: choose a log, let a worker process clean it, swap the cleaned segments in.

    compactor = Compactor(disk, store, CleanerSettings())
    compaction = compactor.begin(now_ms)        every `log.cleaner.backoff.ms`; None: no log is dirty enough
    run compaction.command with compaction.input on its stdin, then for each line of its stdout:
        compaction.handle(line, now_ms)         swaps a cleaned segment in; if it raises, kill the process
    compaction.sync_and_clean_up()              on a worker thread, however the process ended
    compactor.finish(compaction, now_ms)        then begin again at once: another log may be dirty too

One compaction runs at a time. Everything but `sync_and_clean_up` runs on the event loop and never waits for the device.

The log stays in use while it is cleaned. A cleaned segment is swapped in only if the planned segments are still the
same objects in the same log. If the log was deleted or truncated meanwhile, or retention removed segments, it is left
unchanged and planned again in the next round. The cleaner offset moves only after the renames are on disk: otherwise, a
power cut could bring back records that no later round would read again.
"""

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import json

from barnabas.env import Disk
from barnabas.log.compaction_choice import LogToClean, choose_dirtiest
from barnabas.log.compaction_core import remove_cleaned
from barnabas.log.compaction_job import CleanedGroup, CompactionJob, Failed, Finished, Message, SourceSegment
from barnabas.log.file_names import LOG
from barnabas.log.log_store import LogStore
from barnabas.model import TopicPartition

logger = logging.getLogger(__name__)

FAILURE_PAUSE_MS: Final = 10 * 60 * 1000
"""How long a log is not cleaned again after a failure (damage, a full disk); others are cleaned meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerSettings:
    """The `log.cleaner.*` configs of the broker that apply here."""

    enable: bool = True
    backoff_ms: int = 15_000
    dedupe_buffer_bytes: int = 128 * 1024**2
    io_bytes_per_second: float | None = None


class CompactionAborted(Exception):
    """The log has changed since it was planned, or the worker failed. Nothing is lost."""


class Compactor:
    def __init__(self, disk: Disk, store: LogStore, settings: CleanerSettings) -> None:
        self._disk = disk
        self._store = store
        self.settings = settings
        self._paused_until_ms: dict[TopicPartition, int] = {}

    def begin(self, now_ms: int) -> "Compaction | None":
        """Plan the compaction of the dirtiest open log."""
        self._paused_until_ms = {log: until for log, until in self._paused_until_ms.items() if until > now_ms}
        logs = [log for log in self._store.opened() if log.topic_partition not in self._paused_until_ms]
        dirtiest = choose_dirtiest(logs, self._cleaner_offsets(), now_ms)
        if dirtiest is None:
            return None
        return Compaction(self._disk, self._store, dirtiest, plan(dirtiest, self.settings, now_ms))

    def finish(self, compaction: "Compaction", now_ms: int) -> None:
        """Record the result; the cleaner offset is written with the next checkpoints."""
        partition = compaction.topic_partition
        finished = compaction.finished
        directory = self._store.directory_of(partition)
        if finished is None or directory is None or not compaction.is_current:
            self._paused_until_ms[partition] = now_ms + FAILURE_PAUSE_MS
            logger.warning("compaction of %s did not finish; it will be retried later", partition)
            return
        directory.cleaner_offsets[partition] = finished.end_offset
        logger.info(
            "compacted %s up to offset %d: kept %d of %d records, %d of %d bytes",
            partition,
            finished.end_offset,
            finished.records_kept,
            finished.records_read,
            finished.bytes_kept,
            finished.bytes_read,
        )

    def _cleaner_offsets(self) -> Mapping[TopicPartition, int]:
        return {
            partition: offset
            for directory in self._store.directories
            for partition, offset in directory.cleaner_offsets.items()
        }


def plan(chosen: LogToClean, cleaner: CleanerSettings, now_ms: int) -> CompactionJob:
    log = chosen.log
    settings = log.settings
    return CompactionJob(
        directory=log.directory,
        sources=[SourceSegment(segment.base_offset, segment.size) for segment in chosen.segments],
        first_dirty_offset=chosen.first_dirty_offset,
        end_offset=chosen.end_offset,
        last_offsets={
            producer_id: entry.batches[-1].last_offset
            for producer_id, entry in log.producers.producers.items()
            if entry.batches and entry.batches[-1].last_offset < chosen.end_offset
        },
        marker_epochs={
            producer_id: entry.epoch for producer_id, entry in log.producers.producers.items() if not entry.batches
        },
        aborted=log.aborted_transactions(log.segments[0].base_offset, chosen.end_offset),
        now_ms=now_ms,
        delete_retention_ms=settings.delete_retention_ms,
        segment_bytes=settings.segment_bytes,
        segment_index_bytes=settings.segment_index_bytes,
        index_interval_bytes=settings.index_interval_bytes,
        map_bytes_max=cleaner.dedupe_buffer_bytes,
        io_bytes_per_second=cleaner.io_bytes_per_second,
    )


class Compaction:
    """One compaction of one log, from the plan to the last swap."""

    def __init__(self, disk: Disk, store: LogStore, chosen: LogToClean, job: CompactionJob) -> None:
        self._disk = disk
        self._store = store
        self._log = chosen.log
        self._segments = {segment.base_offset: segment for segment in chosen.segments}
        self.topic_partition = chosen.log.topic_partition
        self.job = job
        self.finished: Finished | None = None

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-P", "-m", "barnabas.log.compaction_worker", str(os.getpid())]

    @property
    def input(self) -> bytes:
        return json.encode(self.job)

    @property
    def is_current(self) -> bool:
        """Whether the log is still open, online and configured to be compacted."""
        log = self._log
        return self._store.find(self.topic_partition) is log and log.settings.compact and not log.health.is_offline

    def handle(self, line: bytes, now_ms: int) -> None:
        """Process one line of the worker's output. Raises CompactionAborted or KafkaStorageError if it must stop."""
        message: Message = json.decode(line, type=Message)
        match message:
            case CleanedGroup():
                self.swap_in(message, now_ms)
            case Finished():
                self.finished = message
            case Failed():
                raise CompactionAborted(f"compacting {self.topic_partition} failed: {message.reason}")

    def swap_in(self, group: CleanedGroup, now_ms: int) -> None:
        log = self._log
        if not self.is_current or not self._is_unchanged(group.sources[0]):
            raise CompactionAborted(
                f"compacting {self.topic_partition} was aborted: the log has changed since it was planned"
            )
        cleaned = log.store.open_cleaned(group.sources[0], group.size, log.settings, now_ms)
        path = cleaned.path(LOG)
        if not self._disk.exists(path) or self._disk.size(path) != group.size:
            raise CompactionAborted(f"{path} is missing or does not have the size that the worker reported")
        sources = [self._segments[base_offset] for base_offset in group.sources]
        log.store.replace([cleaned], sources, log.settings, now_ms)

    def _is_unchanged(self, base_offset: int) -> bool:
        """Whether all planned segments from `base_offset` on are still in the log.

        Including the ones after those to replace: if the log was truncated, a record that superseded older ones may be
        gone.
        """
        segments = self._log.segments
        first = max(segments.floor_slot(base_offset), 0)
        planned = [source for source in self.job.sources if source.base_offset >= base_offset]
        found = segments.from_slot(first)[: len(planned)]
        return len(found) == len(planned) and all(
            segment is self._segments[source.base_offset] and segment.sealed and segment.size == source.size
            for segment, source in zip(found, planned, strict=True)
        )

    def sync_and_clean_up(self) -> None:
        """Sync the swaps and remove segments that were not swapped in. Waits for the device; never raises."""
        try:
            if self._disk.exists(self.job.directory):
                remove_cleaned(self._disk, self.job.directory)
                self._disk.sync_dir(self.job.directory)
        except OSError as error:
            logger.warning("the compaction of %s could not be synced: %s", self.topic_partition, error)
            self.finished = None
