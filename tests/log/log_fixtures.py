"""Helpers for the tests of this room: batches, logs on a simulated disk, reading a whole log."""

import random
import uuid

from barnabas.env import Disk
from barnabas.log.append_result import AppendResult
from barnabas.log.batch_scan import Damage
from barnabas.log.log_store import LogStore
from barnabas.log.partition_log import PartitionLog
from barnabas.log.recovery import LogCheckpoint
from barnabas.log.settings import LogSettings
from barnabas.log.transactions import VerificationGuard
from barnabas.model import TopicPartition
from barnabas.records.batch import Batch, read_batch, split_batches
from barnabas.records.control import EndTransactionMarker, marker_batch
from barnabas.records.record import Record, build_batch

NOW_MS = 1_700_000_000_000
PARTITION = TopicPartition("topic", 0)
DIRECTORY = f"/logs/{PARTITION}"
TOPIC_ID = uuid.UUID(int=77)
SMALL = LogSettings(segment_bytes=2000, index_interval_bytes=200, producer_id_expiration_ms=10**12)


def make_batch(
    count: int = 1,
    *,
    value: bytes = b"value",
    timestamp: int = NOW_MS,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    codec: int = 0,
    base_offset: int = 0,
    leader_epoch: int = -1,
    transactional: bool = False,
) -> Batch:
    records = [Record(base_offset + n, timestamp + n, b"key", value) for n in range(count)]
    return read_batch(
        build_batch(
            records,
            base_offset=base_offset,
            leader_epoch=leader_epoch,
            codec=codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            transactional=transactional,
        )
    )


def verified(log: PartitionLog, producer_id: int, *, epoch: int = 0, sequence: int = 0) -> VerificationGuard | None:
    """A guard for a transactional batch that its coordinator has verified."""
    return log.producers.begin_verification(producer_id, epoch, sequence, supports_epoch_bump=False, now_ms=NOW_MS)


def append_marker(
    log: PartitionLog,
    producer_id: int,
    *,
    commit: bool,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    transaction_version: int = 0,
) -> AppendResult:
    marker = EndTransactionMarker(commit, coordinator_epoch)
    return log.append_marker(
        marker_batch(marker, producer_id=producer_id, producer_epoch=epoch, now_ms=NOW_MS),
        marker,
        leader_epoch=max(log.epochs.latest_epoch, 0),
        now_ms=NOW_MS,
        transaction_version=transaction_version,
    )


def open_log(
    disk: Disk,
    settings: LogSettings = SMALL,
    *,
    clean: bool = True,
    recovery_point: int | None = 0,
    recovery_point_is_lost: bool = False,
    log_start_offset: int = 0,
    now_ms: int = NOW_MS,
    directory: str = DIRECTORY,
) -> PartitionLog:
    return PartitionLog.open(
        disk,
        directory,
        PARTITION,
        settings,
        LogCheckpoint(
            clean_shutdown=clean,
            recovery_point=recovery_point,
            recovery_point_is_lost=recovery_point_is_lost,
            log_start_offset=log_start_offset,
        ),
        now_ms=now_ms,
        topic_id=TOPIC_ID,
    )


def open_store(disk: Disk, *paths: str, settings: LogSettings = SMALL, now_ms: int = NOW_MS) -> LogStore:
    return LogStore(
        disk,
        paths or ("/logs",),
        cluster_id="cluster",
        node_id=1,
        settings_of=lambda _: settings,
        now_ms=lambda: now_ms,
        random=random.Random(1),
    )


def fill(log: PartitionLog, batches: int, *, count: int = 1, value: bytes = b"v" * 50, leader_epoch: int = 0) -> None:
    for n in range(batches):
        log.append([make_batch(count, value=value, timestamp=NOW_MS + n)], leader_epoch=leader_epoch, now_ms=NOW_MS)
    log.high_watermark = log.log_end_offset


def read_all(log: PartitionLog, *, max_bytes: int = 300) -> list[Batch]:
    """Every batch from the log start on, as a reader fetches them; the cached path must agree with the other."""
    batches: list[Batch] = []
    offset = log.log_start_offset
    while (found := log.locate(offset, max_bytes=max_bytes, end_offset=log.log_end_offset)) is not None:
        data = found.read()
        cached = found.try_read()
        assert cached is None or cached[: len(data)] == data
        whole = list(split_batches(data))
        assert whole
        assert whole[0].header.last_offset >= offset
        batches += whole
        offset = whole[-1].header.next_offset
    return batches


def damages_of(log: PartitionLog) -> list[Damage]:
    """Reads and checks every batch."""
    return [found for segment in log.segments for found in segment.scan() if isinstance(found, Damage)]


def offsets_of(batches: list[Batch]) -> list[tuple[int, int]]:
    return [(batch.header.base_offset, batch.header.last_offset) for batch in batches]
