"""Raft's log, stored as the partition log `__cluster_metadata-0`; Raft decides what is committed."""

from collections.abc import Callable

from barnabas.log.jobs import FlushJob
from barnabas.log.partition_log import PartitionLog
from barnabas.raft.ports import SyncJob
from barnabas.records.batch import read_batch, split_batches


class PartitionMetadataLog:
    def __init__(self, log: PartitionLog, now_ms: Callable[[], int]) -> None:
        self._log = log
        self._now_ms = now_ms

    @property
    def start_offset(self) -> int:
        return self._log.log_start_offset

    @property
    def end_offset(self) -> int:
        return self._log.log_end_offset

    @property
    def last_epoch(self) -> int:
        return max(self._log.epochs.latest_epoch, 0)

    def epoch_end(self, epoch: int) -> tuple[int, int] | None:
        entries = self._log.epochs.entries
        if not entries or epoch < entries[0].epoch:
            return None
        return self._log.end_offset_for_epoch(min(epoch, self._log.epochs.latest_epoch))

    def append(self, batch: bytes) -> None:
        self._log.append_replicated([read_batch(batch)], now_ms=self._now_ms())

    def read(self, offset: int, max_bytes: int) -> bytes:
        located = self._log.locate(offset, max_bytes=max_bytes, end_offset=self._log.log_end_offset)
        if located is None:
            return b""
        data = located.read()
        return data[: sum(len(batch.data) for batch in split_batches(data))]

    def begin_sync(self) -> SyncJob | None:
        job = self._log.begin_flush()
        if job is None and self._log.flush_state.recovery_point < self._log.log_end_offset:
            raise RuntimeError("the metadata log is being synced by another caller: it is not known what was synced")
        return job

    def finish_sync(self, job: SyncJob) -> None:
        assert isinstance(job, FlushJob)
        self._log.finish_flush(job)

    def commit(self, high_watermark: int) -> None:
        self._log.high_watermark = max(high_watermark, self._log.high_watermark)

    def delete_prefix(self, offset: int) -> None:
        self._log.delete_records(offset)
        self._log.delete_old_segments(self._now_ms())

    def restart_at(self, offset: int, epoch: int) -> None:
        self._log.truncate_fully_and_start_at(offset, self._now_ms())
        self._log.epochs.assign(epoch, offset)
