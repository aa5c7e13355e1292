"""What the tests of compaction share: keyed logs, one round of cleaning without a process, records before and after."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from log_fixtures import NOW_MS, PARTITION, SMALL, TOPIC_ID, append_marker, open_store, read_all, verified
from msgspec import json

from barnabas.env import Disk
from barnabas.log.compaction import CleanerSettings, Compaction, Compactor
from barnabas.log.compaction_core import compact
from barnabas.log.log_store import LogStore
from barnabas.log.partition_log import PartitionLog
from barnabas.log.settings import LogSettings
from barnabas.records.batch import read_batch, split_batches
from barnabas.records.record import Record, build_batch, decode_records

RETENTION_MS = 1000
COMPACTED = replace(
    SMALL, compact=True, delete=False, segment_bytes=600, delete_retention_ms=RETENTION_MS, min_cleanable_dirty_ratio=0
)

DEFAULTS = CleanerSettings()

Row = tuple[bytes | None, bytes | None]


def new_log(disk: Disk, settings: LogSettings = COMPACTED) -> tuple[LogStore, PartitionLog]:
    store = open_store(disk, settings=settings)
    return store, store.create(PARTITION, TOPIC_ID)


def put(
    log: PartitionLog,
    *rows: Row,
    codec: int = 0,
    timestamp: int = NOW_MS,
    producer_id: int = -1,
    base_sequence: int = -1,
    log_append_time: int | None = None,
    transactional: bool = False,
) -> int:
    """Append one batch; returns its base offset."""
    batch = build_batch(
        [Record(n, timestamp + n, key, value) for n, (key, value) in enumerate(rows)],
        base_offset=log.log_end_offset,
        leader_epoch=3,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=base_sequence,
        log_append_time=log_append_time,
        transactional=transactional,
    )
    guard = verified(log, producer_id, sequence=base_sequence) if transactional else None
    appended = log.append([read_batch(batch)], leader_epoch=3, now_ms=NOW_MS, guard=guard)
    log.high_watermark = log.log_end_offset
    return appended.base_offset


def end(log: PartitionLog, producer_id: int, *, commit: bool) -> int:
    """End the producer's transaction; returns the offset of the marker."""
    offset = append_marker(log, producer_id, commit=commit).base_offset
    log.high_watermark = log.log_end_offset
    return offset


def put_each(log: PartitionLog, rows: Iterable[Row]) -> None:
    for row in rows:
        put(log, row)


def records_of(log: PartitionLog) -> list[Record]:
    return [record for batch in read_all(log) for record in decode_records(batch, max_bytes=1 << 20)]


def record_at(log: PartitionLog, offset: int) -> Record | None:
    """The record that a fetch at `offset` returns: that one, or the next that exists."""
    while (found := log.locate(offset, max_bytes=1, end_offset=log.log_end_offset)) is not None:
        for batch in split_batches(found.read()):
            assert batch.header.last_offset >= offset
            for record in decode_records(batch, max_bytes=1 << 20):
                if record.offset >= offset:
                    return record
            offset = batch.header.next_offset
    return None


def values_of(records: Sequence[Record]) -> dict[bytes, bytes]:
    """The table built from the records: the last value of each key."""
    table = {record.key: record.value for record in records if record.key is not None}
    return {key: value for key, value in table.items() if value is not None}


def run(
    compaction: Compaction, disk: Disk, now_ms: int = NOW_MS, after_swap: Callable[[], None] = lambda: None
) -> None:
    """What the broker does with a worker, in one process."""
    for step in compact(compaction.job, disk):
        compaction.handle(json.encode(step), now_ms)
        after_swap()
    compaction.sync_and_clean_up()


def clean(
    disk: Disk, store: LogStore, *, now_ms: int = NOW_MS, settings: CleanerSettings = DEFAULTS
) -> Compaction | None:
    """One round of cleaning; None: there was nothing to clean."""
    compactor = Compactor(disk, store, settings)
    compaction = compactor.begin(now_ms)
    if compaction is not None:
        run(compaction, disk, now_ms)
        compactor.finish(compaction, now_ms)
    return compaction
