"""Compaction: which records are kept, which are removed, and the resulting batches."""

from dataclasses import replace

import pytest
from compaction_cases import (
    COMPACTED,
    RETENTION_MS,
    Row,
    clean,
    end,
    new_log,
    put,
    put_each,
    record_at,
    records_of,
    values_of,
)
from log_fixtures import NOW_MS, PARTITION, append_marker, damages_of, open_log, open_store, read_all

from barnabas.log.compaction import CleanerSettings
from barnabas.log.compaction_core import group_segments
from barnabas.log.compaction_job import CompactionJob, SourceSegment
from barnabas.log.compaction_map import ENTRY_OVERHEAD_BYTES, LatestOffsets
from barnabas.log.file_names import CLEANED
from barnabas.log.partition_log import PartitionLog
from barnabas.records.compression import Codec
from barnabas.records.record import Record, decode_records
from barnabas.testing.disk import SimulatedDisk
from barnabas.wire.errors import InvalidProducerEpoch


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk(now_ms=lambda: NOW_MS)


def test_the_latest_record_of_each_key_stays_at_its_offset(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    put_each(log, ((b"k%d" % (n % 3), b"v%d" % n) for n in range(30)))
    log.roll(NOW_MS)
    before = records_of(log)
    clean(disk, store)
    assert records_of(log) == before[27:]
    assert store.directories[0].cleaner_offsets == {PARTITION: 30}
    assert not [name for name in disk.list_dir(log.directory) if name.endswith((CLEANED, ".swap"))]
    assert clean(disk, store) is None


def test_small_segments_grow_together(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    put_each(log, ((b"k%d" % (n % 3), b"v%d" % n) for n in range(30)))
    log.roll(NOW_MS)
    count = len(log.segments)
    clean(disk, store)
    assert len(log.segments) == count, "each was full"
    put(log, (b"new", b"v"))
    log.roll(NOW_MS)
    clean(disk, store)
    assert len(log.segments) == 2
    assert [batch.header.base_offset for batch in read_all(log)] == [27, 28, 29, 30]


def test_what_may_not_be_cleaned_stays_as_it_is(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    put_each(log, ((b"k", b"v%d" % n) for n in range(20)))
    log.roll(NOW_MS)
    put_each(log, ((b"k", b"v%d" % n) for n in range(20, 25)))
    log.high_watermark = 12
    before = records_of(log)
    uncleanable = max(segment.base_offset for segment in log.segments if segment.base_offset <= 12)

    clean(disk, store)
    after = records_of(log)
    assert [record for record in after if record.offset >= uncleanable] == before[uncleanable:]
    assert [record.offset for record in after if record.offset < uncleanable] == [uncleanable - 1]

    log.high_watermark = log.log_end_offset
    clean(disk, store)
    assert records_of(log) == before[19:], "the active segment is never cleaned"


def test_young_segments_wait(disk: SimulatedDisk) -> None:
    store, log = new_log(disk, replace(COMPACTED, min_compaction_lag_ms=100))
    for n in range(20):
        put(log, (b"k", b"v"), timestamp=NOW_MS + n * 10)
    log.roll(NOW_MS)
    assert clean(disk, store, now_ms=NOW_MS) is None
    compaction = clean(disk, store, now_ms=NOW_MS + 200)
    assert compaction is not None
    assert 0 < compaction.job.end_offset < 20
    young = next(segment for segment in log.segments if segment.base_offset == compaction.job.end_offset)
    assert young.indexes.largest_timestamp() > NOW_MS + 100


def test_records_without_a_key_go(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    put(log, (None, b"lost"), (b"k", b"kept"), (None, b"lost"))
    log.roll(NOW_MS)
    clean(disk, store)
    assert [record.value for record in records_of(log)] == [b"kept"]


def test_a_tombstone_stays_for_delete_retention_after_it_was_first_cleaned(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    put(log, (b"k", b"v"), (b"other", b"v"))
    put(log, (b"k", None), (b"more", b"v"))
    log.roll(NOW_MS)
    before = records_of(log)

    later = NOW_MS + 10**9
    clean(disk, store, now_ms=later)
    assert records_of(log) == before[1:]
    (marked,) = [batch.header for batch in read_all(log) if batch.header.has_delete_horizon]
    assert marked.base_timestamp == later + RETENTION_MS

    put(log, (b"a", b"v"))
    log.roll(NOW_MS)
    clean(disk, store, now_ms=later + RETENTION_MS - 1)
    assert [record.key for record in records_of(log)] == [b"other", b"k", b"more", b"a"]
    (marked,) = [batch.header for batch in read_all(log) if batch.header.has_delete_horizon]
    assert marked.base_timestamp == later + RETENTION_MS, "the horizon is set once"

    put(log, (b"b", b"v"))
    log.roll(NOW_MS)
    clean(disk, store, now_ms=later + RETENTION_MS)
    assert [record.key for record in records_of(log)] == [b"other", b"more", b"a", b"b"]
    assert records_of(log)[1] == before[3], "times survive the move of the base timestamp"


def test_batches_keep_their_frame(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    for codec in Codec:
        put(log, (b"x", b"old" * 30), (b"k%d" % codec, b"v" * 40), (b"x", b"old"), codec=codec, log_append_time=NOW_MS)
    put(log, (b"x", b"new"))
    log.roll(NOW_MS)
    before = {batch.header.base_offset: batch.header for batch in read_all(log)}
    clean(disk, store)
    batches = read_all(log)
    assert len(batches) == len(Codec) + 1
    for batch in batches[:-1]:
        old = before[batch.header.base_offset]
        assert batch.header.record_count == 1
        for field in ("last_offset", "codec", "is_log_append_time", "max_timestamp", "leader_epoch"):
            assert getattr(batch.header, field) == getattr(old, field)
    assert {record.timestamp for record in records_of(log)[:-1]} == {NOW_MS}


def test_the_newest_batch_of_a_producer_outlives_its_records(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    put(log, (b"k", b"1"), producer_id=7, base_sequence=0)
    newest = put(log, (b"k", b"2"), (b"k", b"3"), producer_id=7, base_sequence=1, codec=Codec.ZSTD)
    put(log, (b"k", b"4"))
    log.roll(NOW_MS)
    clean(disk, store)
    assert [record.value for record in records_of(log)] == [b"4"]
    header = read_all(log)[0].header
    assert (header.base_offset, header.last_offset, header.record_count) == (newest, newest + 1, 0)
    assert (header.producer_id, header.base_sequence, header.last_sequence) == (7, 1, 2)

    log.flush()
    disk.kill()
    for name in disk.list_dir(log.directory):
        if name.endswith(".snapshot"):
            disk.remove(f"{log.directory}/{name}")
    reopened = open_log(disk, COMPACTED, clean=False)
    assert put(reopened, (b"k", b"2"), (b"k", b"3"), producer_id=7, base_sequence=1) == newest, "a retry"
    put(reopened, (b"k", b"5"), producer_id=7, base_sequence=3)


def txn(log: PartitionLog, *rows: Row, sequence: int, producer_id: int = 7) -> int:
    return put(log, *rows, producer_id=producer_id, base_sequence=sequence, transactional=True)


def pairs_of(log: PartitionLog) -> list[Row]:
    """Of the records that are not markers."""
    batches = [batch for batch in read_all(log) if not batch.header.is_control]
    return [(each.key, each.value) for batch in batches for each in decode_records(batch, max_bytes=1 << 20)]


def markers_of(log: PartitionLog) -> list[int]:
    batches = [batch for batch in read_all(log) if batch.header.is_control and batch.header.record_count]
    return [batch.header.base_offset for batch in batches]


def test_aborted_records_go_and_supersede_nothing_committed_ones_do(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    put(log, (b"a", b"plain"), (b"b", b"plain"), (b"c", b"plain"))
    txn(log, (b"a", b"aborted"), (b"b", None), sequence=0)
    aborted = end(log, 7, commit=False)
    txn(log, (b"b", b"committed"), (b"c", None), sequence=2)
    committed = end(log, 7, commit=True)
    put(log, (b"d", b"v"))
    log.roll(NOW_MS)
    clean(disk, store)
    kept: list[Row] = [(b"a", b"plain"), (b"b", b"committed"), (b"c", None), (b"d", b"v")]
    assert pairs_of(log) == kept
    assert markers_of(log) == [aborted, committed]
    assert log.aborted_transactions(0, 100) == [(7, 3, aborted, aborted + 1)], "who has read the first record needs it"


def test_a_marker_goes_when_its_records_are_gone_and_its_horizon_has_passed(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    txn(log, (b"a", b"aborted"), sequence=0)
    first = end(log, 7, commit=False)
    txn(log, (b"a", b"committed"), sequence=1)
    second = end(log, 7, commit=True)
    put(log, (b"a", b"plain"))
    txn(log, (b"z", b"newest of its producer"), sequence=2)
    third = end(log, 7, commit=True)
    later_ms = NOW_MS
    seen = []
    for _ in range(4):
        put(log, (b"filler", b"v"))
        log.roll(NOW_MS)
        clean(disk, store, now_ms=later_ms)
        assert [pair for pair in pairs_of(log) if pair[0] != b"filler"] == [
            (b"a", b"plain"),
            (b"z", b"newest of its producer"),
        ]
        seen.append((markers_of(log), log.aborted_transactions(0, 100)))
        later_ms += RETENTION_MS
    assert seen == [
        ([first, second, third], [(7, 0, first, first + 1)]),  # the records were still there when the round began
        ([first, second, third], []),  # now the markers have a horizon
        ([third], []),
        ([third], []),
    ]


def test_the_last_marker_keeps_a_silent_producers_epoch(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    txn(log, (b"a", b"v"), sequence=0)
    append_marker(log, 7, commit=False, epoch=1)
    log.high_watermark = log.log_end_offset
    for n in range(4):
        put(log, (b"filler", b"v"))
        log.roll(NOW_MS)
        clean(disk, store, now_ms=NOW_MS + n * RETENTION_MS)
    assert pairs_of(log) == [(b"filler", b"v")]
    store.close()
    for name in disk.list_dir(log.directory):
        if name.endswith(".snapshot"):
            disk.remove(f"{log.directory}/{name}")
    reopened = open_log(disk, COMPACTED)
    with pytest.raises(InvalidProducerEpoch):
        put(reopened, (b"a", b"zombie"), producer_id=7, base_sequence=0)


def test_an_abort_behind_the_cleaned_segments_counts(disk: SimulatedDisk) -> None:
    """It stands in the active segment, whose index no file holds yet."""
    store, log = new_log(disk)
    put(log, (b"a", b"plain"))
    txn(log, (b"a", b"aborted"), sequence=0)
    log.roll(NOW_MS)
    put(log, (b"b", b"v"))
    log.roll(NOW_MS)
    marker = end(log, 7, commit=False)
    compaction = clean(disk, store)
    assert compaction is not None
    assert compaction.job.end_offset == marker
    assert pairs_of(log) == [(b"a", b"plain"), (b"b", b"v")]
    assert log.aborted_transactions(0, 100) == [(7, 1, marker, marker + 1)]


def test_an_open_transaction_holds_the_cleaner_back(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    put_each(log, ((b"k", b"v%d" % n) for n in range(10)))
    log.roll(NOW_MS)
    put(log, (b"k", b"txn"), producer_id=7, base_sequence=0, transactional=True)
    log.roll(NOW_MS)
    put_each(log, ((b"k", b"v%d" % n) for n in range(10)))
    log.roll(NOW_MS)
    compaction = clean(disk, store)
    assert compaction is not None
    assert compaction.job.end_offset == 10


def test_with_too_many_keys_a_part_is_cleaned_each_round(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    put_each(log, ((b"k%02d" % (n % 40), b"v%d" % n) for n in range(100)))
    put(log, *((b"k%02d" % n, b"batch") for n in range(15)))
    log.roll(NOW_MS)
    before = records_of(log)
    settings = CleanerSettings(dedupe_buffer_bytes=10 * (ENTRY_OVERHEAD_BYTES + 3))
    ends = []
    while (compaction := clean(disk, store, settings=settings)) is not None:
        assert compaction.finished is not None
        assert compaction.finished.keys <= 15
        ends.append(compaction.finished.end_offset)
        assert ends == sorted(set(ends)), "each round gets on"
        assert values_of(records_of(log)) == values_of(before)
    assert ends[0] == 10
    assert ends[-1] == 115
    assert [record.offset for record in records_of(log)] == [*range(60, 80), *range(95, 115)]


def test_long_keys_and_their_digests_are_different_keys() -> None:
    latest = LatestOffsets(1 << 20)
    long = b"x" * 33
    latest.add([Record(1, 0, long, b"v"), Record(2, 0, b"x" * 32, b"v"), Record(3, 0, None, b"v")], start_offset=0)
    assert (latest.of(long), latest.of(b"x" * 32), latest.of(b"x" * 34), len(latest)) == (1, 2, -1, 2)


def test_groups_stay_within_a_segment(disk: SimulatedDisk) -> None:
    disk.make_dirs("/log")

    def groups(sources: list[tuple[int, int]], *, index_bytes: int = 10**6, end: int = 2**40) -> list[list[int]]:
        job = CompactionJob(
            directory="/log",
            sources=[SourceSegment(base, size) for base, size in sources],
            first_dirty_offset=0,
            end_offset=2**40,
            last_offsets={},
            marker_epochs={},
            aborted=[],
            now_ms=NOW_MS,
            delete_retention_ms=0,
            segment_bytes=100,
            segment_index_bytes=index_bytes,
            index_interval_bytes=10,
            map_bytes_max=1000,
        )
        return [[source.base_offset for source in group] for group in group_segments(job, disk, end)]

    assert groups([(0, 50), (10, 50), (20, 1), (30, 200), (40, 1)]) == [[0, 10], [20], [30], [40]]
    assert groups([(0, 1), (10, 1), (20, 1)], end=20) == [[0, 10]]
    assert groups([(0, 1), (2**31, 1), (2**31 + 1, 1)]) == [[0], [2**31], [2**31 + 1]]
    for base in (0, 10):
        disk.replace_file(f"/log/{base:020d}.index", bytes(16))
    assert groups([(0, 1), (10, 1), (20, 1)], index_bytes=24) == [[0], [10], [20]]
    assert groups([(0, 1), (10, 1), (20, 1)], index_bytes=32) == [[0, 10], [20]]


def test_segments_without_anything_to_clean_are_not_replaced(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    put(log, *((b"a%d" % n, b"v" * 40) for n in range(8)))
    put(log, *((b"b%d" % n, b"v" * 40) for n in range(8)))
    log.roll(NOW_MS)
    segments = list(log.segments)
    clean(disk, store)
    assert list(log.segments) == segments
    assert store.directories[0].cleaner_offsets == {PARTITION: 16}


def test_readers_step_over_the_gaps(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    put_each(log, ((b"a" if n % 9 else b"k%d" % n, b"v" * 60) for n in range(50)))
    log.roll(NOW_MS)
    put(log, (b"end", b"v"))
    clean(disk, store)
    kept = [record.offset for record in records_of(log)]
    assert kept == [0, 9, 18, 27, 36, 45, 49, 50]
    for offset in range(51):
        found = record_at(log, offset)
        assert found is not None
        assert found.offset == next(n for n in kept if n >= offset)
    assert log.offset_for_timestamp(NOW_MS) is not None


def test_a_cleaned_log_is_found_again(disk: SimulatedDisk) -> None:
    store, log = new_log(disk)
    put_each(log, ((b"k%d" % (n % 5), b"v%d" % n) for n in range(40)))
    log.roll(NOW_MS)
    clean(disk, store)
    before = records_of(log)
    store.close()
    again = open_store(disk, settings=COMPACTED)
    assert records_of(again.get(PARTITION)) == before
    assert damages_of(again.get(PARTITION)) == []
    assert clean(disk, again) is None, "the cleaner offset was kept"
