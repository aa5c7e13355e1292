"""Appending, rolling and reading one log."""

import pytest
from log_fixtures import DIRECTORY, NOW_MS, SMALL, fill, make_batch, offsets_of, open_log, read_all

from barnabas.log.settings import LogSettings
from barnabas.records.batch import split_batches
from barnabas.testing.disk import SimulatedDisk
from barnabas.wire.errors import InvalidRequest, OffsetOutOfRange, RecordListTooLarge


def test_offsets_are_assigned_one_after_another() -> None:
    log = open_log(SimulatedDisk())
    first = log.append([make_batch(3), make_batch(2)], leader_epoch=4, now_ms=NOW_MS)
    assert (first.base_offset, first.last_offset, first.duplicate, first.log_append_time) == (0, 4, False, -1)
    second = log.append([make_batch()], leader_epoch=5, now_ms=NOW_MS)
    assert (second.base_offset, log.log_end_offset, log.epochs.latest_epoch) == (5, 6, 5)
    batches = read_all(log)
    assert offsets_of(batches) == [(0, 2), (3, 4), (5, 5)]
    assert [batch.header.leader_epoch for batch in batches] == [4, 4, 5]
    assert log.size == sum(len(batch.data) for batch in batches)


def test_a_full_segment_is_rolled_with_indexes_and_snapshot() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    fill(log, 60)
    assert len(log.segments) > 3
    second = log.segments[1].base_offset
    names = disk.list_dir(DIRECTORY)
    assert {f"{second:020d}{kind}" for kind in (".log", ".index", ".timeindex", ".snapshot")} <= set(names)
    assert all(segment.size <= SMALL.segment_bytes for segment in log.segments)
    assert disk.size(f"{DIRECTORY}/{0:020d}.index") % 8 == 0 < disk.size(f"{DIRECTORY}/{0:020d}.index")
    assert len(read_all(log)) == 60


def test_roll_by_time_counts_from_the_first_record() -> None:
    log = open_log(SimulatedDisk(), LogSettings(segment_ms=1000))
    log.append([make_batch(timestamp=NOW_MS)], leader_epoch=0, now_ms=NOW_MS)
    log.append([make_batch(timestamp=NOW_MS + 1000)], leader_epoch=0, now_ms=NOW_MS + 10**6)
    assert len(log.segments) == 1
    log.append([make_batch(timestamp=NOW_MS + 1001)], leader_epoch=0, now_ms=NOW_MS)
    assert len(log.segments) == 2


def test_roll_by_time_without_timestamps_counts_from_creation() -> None:
    log = open_log(SimulatedDisk(), LogSettings(segment_ms=1000))
    log.append([make_batch(timestamp=-1)], leader_epoch=0, now_ms=NOW_MS)
    log.append([make_batch(timestamp=-1)], leader_epoch=0, now_ms=NOW_MS + 1000)
    assert len(log.segments) == 1
    log.append([make_batch(timestamp=-1)], leader_epoch=0, now_ms=NOW_MS + 1001)
    assert len(log.segments) == 2


def test_jitter_brings_a_roll_forward_and_is_the_same_each_time() -> None:
    def rolled_after() -> int:
        log = open_log(SimulatedDisk(), LogSettings(segment_ms=1000, segment_jitter_ms=900))
        for n in range(2000):
            log.append([make_batch(timestamp=NOW_MS + n)], leader_epoch=0, now_ms=NOW_MS)
            if len(log.segments) == 2:
                return n
        raise AssertionError("never rolled")

    assert 100 <= rolled_after() == rolled_after() < 1001


def test_roll_when_an_index_is_full() -> None:
    log = open_log(SimulatedDisk(), LogSettings(index_interval_bytes=0, segment_index_bytes=48))
    fill(log, 30)
    assert len(log.segments) > 4
    assert all(segment.indexes.both()[1].size_bytes <= 48 for segment in log.segments)
    assert len(read_all(log)) == 30


def test_roll_when_offsets_no_longer_fit_the_index() -> None:
    log = open_log(SimulatedDisk())
    log.append_replicated([make_batch(base_offset=0, leader_epoch=1)], now_ms=NOW_MS)
    log.append_replicated([make_batch(base_offset=2**31 - 1, leader_epoch=1)], now_ms=NOW_MS)
    assert len(log.segments) == 1
    log.append_replicated([make_batch(base_offset=2**31, leader_epoch=1)], now_ms=NOW_MS)
    assert [segment.base_offset for segment in log.segments] == [0, 2**31]
    assert offsets_of(read_all(log)) == [(0, 0), (2**31 - 1,) * 2, (2**31,) * 2]


def test_more_than_a_segment_at_once_is_refused() -> None:
    log = open_log(SimulatedDisk())
    with pytest.raises(RecordListTooLarge):
        log.append([make_batch(value=b"v" * 2000)], leader_epoch=0, now_ms=NOW_MS)
    assert log.log_end_offset == 0


def test_replicated_batches_keep_offsets_and_epochs_and_may_leave_gaps() -> None:
    log = open_log(SimulatedDisk())
    batches = [make_batch(2, base_offset=5, leader_epoch=3), make_batch(1, base_offset=9, leader_epoch=4)]
    log.append_replicated(batches, now_ms=NOW_MS)
    assert (log.log_end_offset, log.epochs.entries) == (10, [(3, 5), (4, 9)])
    assert [bytes(batch.data) for batch in read_all(log)] == [bytes(batch.data) for batch in batches]
    found = log.locate(7, max_bytes=1000, end_offset=10)
    assert found is not None
    assert offsets_of(list(split_batches(found.read()))) == [(9, 9)]
    with pytest.raises(InvalidRequest):
        log.append_replicated([make_batch(base_offset=9)], now_ms=NOW_MS)


def test_a_read_outside_the_log_is_refused() -> None:
    log = open_log(SimulatedDisk())
    fill(log, 5)
    log.delete_records(2)
    for offset in (-1, 1, 6):
        with pytest.raises(OffsetOutOfRange):
            log.locate(offset, max_bytes=1, end_offset=5)
    assert log.locate(5, max_bytes=1, end_offset=5) is None


@pytest.mark.parametrize("restarted", [False, True])
def test_a_read_never_goes_past_the_end_it_is_given(restarted: bool) -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    fill(log, 40, count=3)
    if restarted:
        log.close(clean=True)
        log = open_log(disk)
    for end_offset in range(log.log_end_offset + 1):
        for offset in range(0, log.log_end_offset, 7):
            found = log.locate(offset, max_bytes=10**6, end_offset=end_offset)
            whole_batches_below = offset < end_offset - end_offset % 3
            assert (found is not None) == whole_batches_below
            if found is not None:
                batches = list(split_batches(found.read()))
                assert batches[0].header.base_offset == offset - offset % 3
                last = batches[-1].header.next_offset
                assert last <= end_offset
                segment_end = log.segments.end_offset_of(log.segments.floor_slot(offset), log.log_end_offset)
                assert last == min(end_offset - end_offset % 3, segment_end)


def test_a_batch_larger_than_the_limit_is_given_whole_or_not_at_all() -> None:
    log = open_log(SimulatedDisk())
    fill(log, 5)
    size = log.size // 5
    found = log.locate(0, max_bytes=1, end_offset=5)
    assert found is not None
    assert found.size == size
    assert log.locate(0, max_bytes=size - 1, end_offset=5, at_least_one_batch=False) is None
    found = log.locate(0, max_bytes=size + 10, end_offset=5, at_least_one_batch=False)
    assert found is not None
    assert found.size == size + 10


def test_bytes_from_before_the_start_are_checked_once() -> None:
    disk = SimulatedDisk()
    log = open_log(disk, LogSettings())
    fill(log, 10)
    log.close(clean=True)
    log = open_log(disk, LogSettings())
    found = log.locate(0, max_bytes=10**6, end_offset=10)
    assert found is not None
    assert found.try_read() is None
    data = found.read()
    assert found.try_read() == data
    log.append([make_batch()], leader_epoch=0, now_ms=NOW_MS)
    tail = log.locate(10, max_bytes=10**6, end_offset=11)
    assert tail is not None
    assert tail.try_read() is not None


def test_cold_bytes_are_left_to_a_worker() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    fill(log, 3)
    disk.evict(f"{DIRECTORY}/{0:020d}.log")
    found = log.locate(0, max_bytes=10**6, end_offset=3)
    assert found is not None
    assert found.try_read() is None
    assert len(list(split_batches(found.read()))) == 3


def test_slices_outlive_retention_until_the_files_are_removed() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    fill(log, 60)
    found = log.locate(0, max_bytes=500, end_offset=60)
    assert found is not None
    log.delete_records(60)
    assert log.delete_old_segments(NOW_MS) > 0
    assert found.read()


def test_an_empty_sealed_segment_is_passed_over() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    log.append_replicated([make_batch(base_offset=2**31 + 5, leader_epoch=0)], now_ms=NOW_MS)
    assert [segment.size > 0 for segment in log.segments] == [False, True]
    assert offsets_of(read_all(log)) == [(2**31 + 5,) * 2]
    log.close(clean=True)
    assert offsets_of(read_all(open_log(disk))) == [(2**31 + 5,) * 2]
