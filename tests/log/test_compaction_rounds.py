"""Which log is cleaned when, and what happens when the log changes during a cleaning."""

import errno
from collections.abc import Iterator
from dataclasses import replace

import pytest
from compaction_cases import COMPACTED, clean, new_log, put, put_each, records_of, run
from log_fixtures import NOW_MS, PARTITION, TOPIC_ID, open_store
from msgspec import json

from barnabas.log.compaction import FAILURE_PAUSE_MS, CleanerSettings, Compaction, CompactionAborted, Compactor
from barnabas.log.compaction_choice import choose_dirtiest, measure
from barnabas.log.compaction_core import compact
from barnabas.log.compaction_job import Failed
from barnabas.log.compaction_worker import make_throttle
from barnabas.log.file_names import CLEANED
from barnabas.log.log_store import LogStore
from barnabas.log.partition_log import PartitionLog
from barnabas.model import TopicPartition
from barnabas.records.batch import HEADER_SIZE, read_header, split_batches
from barnabas.testing.disk import Fault, SimulatedDisk
from barnabas.wire.errors import CorruptMessage, KafkaStorageError


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk(now_ms=lambda: NOW_MS)


def dirty(log: PartitionLog, count: int = 20, *, timestamp: int = NOW_MS) -> None:
    for _ in range(count):
        put(log, (b"k", b"v"), timestamp=timestamp)
    log.roll(NOW_MS)


def begin(disk: SimulatedDisk, store: LogStore) -> tuple[Compactor, Compaction]:
    compactor = Compactor(disk, store, CleanerSettings())
    compaction = compactor.begin(NOW_MS)
    assert compaction is not None
    return compactor, compaction


def leftovers(disk: SimulatedDisk, log: PartitionLog) -> list[str]:
    return [name for name in disk.list_dir(log.directory) if CLEANED in name or ".swap" in name]


def test_a_log_is_due_by_its_ratio_or_its_age(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    dirty(log)
    half = log.log_end_offset
    dirty(log)
    log.settings = replace(COMPACTED, min_cleanable_dirty_ratio=0.5)
    found = measure(log, half, NOW_MS)
    assert (found.first_dirty_offset, found.end_offset, found.ratio) == (half, log.log_end_offset, 0.5)
    assert not found.is_due
    assert measure(log, half - 1, NOW_MS).is_due
    assert measure(log, None, NOW_MS).ratio == 1
    assert measure(log, log.log_end_offset, NOW_MS).ratio == 0
    assert measure(log, log.log_end_offset + 1, NOW_MS).ratio == 1, "the log was cut back below it"

    log.settings = replace(log.settings, max_compaction_lag_ms=1000)
    assert not measure(log, half, NOW_MS + 1000).is_due
    assert measure(log, half, NOW_MS + 1001).is_due
    assert not measure(log, log.log_end_offset, NOW_MS + 1001).is_due, "nothing is dirty"

    log.delete_records(half + 5)
    assert measure(log, half, NOW_MS).first_dirty_offset == half + 5
    assert store.find(PARTITION) is log


def test_the_dirtiest_goes_first(disk: SimulatedDisk) -> None:
    store, a = new_log(disk)
    b = store.create(TopicPartition("b", 0), TOPIC_ID)
    plain = store.create(TopicPartition("plain", 0), TOPIC_ID, replace(COMPACTED, compact=False))
    for log in (a, b, plain):
        dirty(log)
    offsets = {a.topic_partition: 17, b.topic_partition: 3}
    found = choose_dirtiest([plain, a, b], offsets, NOW_MS)
    assert found is not None
    assert found.log is b
    assert choose_dirtiest([plain], {}, NOW_MS) is None
    seen = set()
    while (compaction := clean(disk, store)) is not None:
        seen.add(compaction.topic_partition)
    assert seen == {a.topic_partition, b.topic_partition}


def truncated(disk: SimulatedDisk, store: LogStore, log: PartitionLog) -> None:
    log.truncate_to(3, NOW_MS)


def truncated_between_segments(disk: SimulatedDisk, store: LogStore, log: PartitionLog) -> None:
    """The first segment is unchanged, but the records that superseded its records are gone."""
    log.truncate_to(log.segments[1].base_offset, NOW_MS)
    put(log, (b"other", b"v"))


def retained(disk: SimulatedDisk, store: LogStore, log: PartitionLog) -> None:
    log.delete_records(log.segments[1].base_offset)
    assert log.delete_old_segments(NOW_MS) == 1


def recreated(disk: SimulatedDisk, store: LogStore, log: PartitionLog) -> None:
    store.delete(PARTITION)
    store.create(PARTITION, TOPIC_ID)


def no_longer_compacted(disk: SimulatedDisk, store: LogStore, log: PartitionLog) -> None:
    log.settings = replace(COMPACTED, compact=False)


def tampered(disk: SimulatedDisk, store: LogStore, log: PartitionLog) -> None:
    (path,) = [f"{log.directory}/{name}" for name in leftovers(disk, log) if ".log" in name]
    disk.open(path).truncate(7)


@pytest.mark.parametrize(
    "change", [truncated, truncated_between_segments, retained, recreated, no_longer_compacted, tampered]
)
def test_a_log_that_changed_meanwhile_is_left_alone(disk: SimulatedDisk, change: object) -> None:
    assert callable(change)
    store, log = new_log(disk)
    dirty(log, 10)
    compactor, compaction = begin(disk, store)
    steps = compact(compaction.job, disk)
    first = json.encode(next(steps))
    change(disk, store, log)
    current = store.get(PARTITION)
    before = records_of(current)
    with pytest.raises(CompactionAborted):
        compaction.handle(first, NOW_MS)
    compaction.sync_and_clean_up()
    compactor.finish(compaction, NOW_MS)
    assert records_of(current) == before
    assert leftovers(disk, current) == []
    assert store.directories[0].cleaner_offsets == {}


def test_a_reader_is_not_led_through_emptied_segments_one_by_one(disk: SimulatedDisk) -> None:
    """After ten answers without a record, librdkafka reports a record that is too large to fetch."""
    store, log = new_log(disk)
    dirty(log, 200)
    put(log, (b"other", b"v"))
    clean(disk, store)
    emptied = [segment for segment in log.segments if segment.size == HEADER_SIZE]
    assert len(emptied) > 10
    found = log.locate(0, max_bytes=1 << 20, end_offset=log.log_end_offset)
    assert found is not None
    (first, *_) = split_batches(found.read())
    assert first.header.record_count > 0
    # If nothing follows, the last empty batch still advances the reader.
    last = read_header(emptied[-1].file.read_at(0, HEADER_SIZE))
    found = log.locate(0, max_bytes=1 << 20, end_offset=last.next_offset)
    assert found is not None
    assert read_header(found.read()) == last


def test_appends_go_on_during_a_cleaning(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    dirty(log)
    compactor, compaction = begin(disk, store)
    run(compaction, disk, after_swap=lambda: dirty(log, 5))
    compactor.finish(compaction, NOW_MS)
    offsets = [record.offset for record in records_of(log)]
    assert offsets[0] == 19
    assert offsets[1:] == list(range(20, log.log_end_offset))


def test_a_slice_is_read_after_its_segment_was_replaced(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    dirty(log)
    found = log.locate(0, max_bytes=100, end_offset=20)
    assert found is not None
    before = found.read()
    clean(disk, store)
    assert found.read() == before


def test_a_full_disk_stops_the_cleaning_not_the_log(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    dirty(log)
    before = records_of(log)
    compactor, compaction = begin(disk, store)
    disk.capacity_bytes = sum(disk.size(f"{log.directory}/{name}") for name in disk.list_dir(log.directory)) + 500
    with pytest.raises(OSError, match="No space") as raised:
        run(compaction, disk)
    assert raised.value.errno == errno.ENOSPC
    compaction.sync_and_clean_up()
    compactor.finish(compaction, NOW_MS)
    disk.capacity_bytes = None
    assert records_of(log) == before
    assert leftovers(disk, log) == []
    assert compactor.begin(NOW_MS) is None, "it is left in peace for a while"
    assert compactor.begin(NOW_MS + FAILURE_PAUSE_MS) is not None


@pytest.mark.parametrize("operation", ["write", "sync", "sync_dir"])
def test_an_error_while_cleaning_leaves_nothing_behind(disk: SimulatedDisk, operation: str) -> None:
    store, log = new_log(disk)
    dirty(log)
    before = records_of(log)
    _, compaction = begin(disk, store)
    disk.inject(Fault("sync_dir" if operation == "sync_dir" else "sync" if operation == "sync" else "write"))
    with pytest.raises(OSError, match="Input/output"):
        run(compaction, disk)
    assert leftovers(disk, log) == []
    assert records_of(log) == before


def test_damage_is_not_cleaned_away(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    dirty(log)
    path = log.segments[0].path(".log")
    disk.open(path).write_at(disk.size(path) - 1, [b"\xff"])
    _, compaction = begin(disk, store)
    with pytest.raises(CorruptMessage, match="CRC"):
        run(compaction, disk)
    assert leftovers(disk, log) == []


def test_a_failed_worker_ends_the_compaction(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    dirty(log)
    _, compaction = begin(disk, store)
    with pytest.raises(CompactionAborted, match="bad luck"):
        compaction.handle(json.encode(Failed("bad luck")), NOW_MS)


def test_the_cleaner_offset_moves_only_with_durable_renames(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    dirty(log)
    compactor, compaction = begin(disk, store)
    for step in compact(compaction.job, disk):
        compaction.handle(json.encode(step), NOW_MS)
    disk.inject(Fault("sync_dir"))
    compaction.sync_and_clean_up()
    compactor.finish(compaction, NOW_MS)
    assert store.directories[0].cleaner_offsets == {}


def test_a_directory_that_fails_during_the_swap_goes_offline(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    dirty(log)
    _, compaction = begin(disk, store)
    disk.inject(Fault("rename"))
    with pytest.raises(KafkaStorageError):
        run(compaction, disk)
    assert log.health.is_offline
    assert Compactor(disk, store, CleanerSettings()).begin(NOW_MS) is None


def test_a_worker_that_lost_its_broker_removes_nothing(disk: SimulatedDisk) -> None:
    """The files may belong to another worker by now, and another broker is about to swap them in."""
    store, log = new_log(disk)
    dirty(log)
    _, compaction = begin(disk, store)
    others = f"{log.directory}/{0:020}.log{CLEANED}"
    disk.open(others, create=True).close()

    def end_at_once(size: int) -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        next(compact(compaction.job, disk, end_at_once))
    assert disk.exists(others)


def test_a_pace_is_kept() -> None:
    slept: list[float] = []
    checks: list[int] = []

    def ticks() -> Iterator[float]:
        while True:
            yield sum(slept)

    clock = ticks()
    throttle = make_throttle(100.0, lambda: checks.append(1), now=lambda: next(clock), sleep=slept.append)
    throttle(50)
    throttle(200)
    assert slept == [0.5, 1.0, 1.0]
    assert len(checks) == 5, "an orphan notices in its sleep"
    make_throttle(None, lambda: None, now=lambda: 0.0, sleep=slept.append)(10**9)
    assert len(slept) == 3


def test_only_open_logs_are_looked_at(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    put_each(log, [(b"k", b"v")] * 20)
    log.roll(NOW_MS)
    store.close()
    again = open_store(disk, settings=COMPACTED)
    assert clean(disk, again) is None
    again.get(PARTITION)
    again.get(PARTITION).high_watermark = 20
    assert clean(disk, again) is not None
