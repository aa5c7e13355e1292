"""Retention, deletion, truncation, flushing, and the cleaner's swap."""

import itertools
import random
from pathlib import Path

import pytest
from log_fixtures import (
    DIRECTORY,
    NOW_MS,
    SMALL,
    TOPIC_ID,
    damages_of,
    fill,
    make_batch,
    offsets_of,
    open_log,
    read_all,
)

from barnabas.env import Disk
from barnabas.env.disk import RealDisk
from barnabas.log.file_names import CLEANED
from barnabas.log.index_cache import IndexCache
from barnabas.log.partition_log import PartitionLog
from barnabas.log.segment import BatchPlacement, Segment
from barnabas.log.settings import LogSettings
from barnabas.testing.disk import PowerCut, SimulatedDisk
from barnabas.wire.errors import OffsetOutOfRange

DAY_MS = 24 * 3600_000


def test_retention_by_time_takes_whole_old_segments() -> None:
    log = open_log(SimulatedDisk(), LogSettings(segment_bytes=600, retention_ms=1000))
    for n in range(30):
        log.append([make_batch(timestamp=NOW_MS + n * 100, value=b"v" * 50)], leader_epoch=0, now_ms=NOW_MS)
    log.high_watermark = log.log_end_offset
    newest = [segment.indexes.largest_timestamp() for segment in log.segments]
    now_ms = newest[2] + 1001
    assert log.delete_old_segments(now_ms) == 3
    assert log.log_start_offset == log.segments[0].base_offset
    assert log.delete_old_segments(now_ms) == 0
    with pytest.raises(OffsetOutOfRange):
        log.locate(0, max_bytes=1, end_offset=30)
    assert log.delete_old_segments(NOW_MS + DAY_MS) == len(newest) - 3
    assert (log.log_start_offset, log.log_end_offset, log.size, len(log.segments)) == (30, 30, 0, 1)
    assert log.delete_old_segments(NOW_MS + 2 * DAY_MS) == 0


def test_retention_by_size_keeps_at_least_the_size() -> None:
    log = open_log(SimulatedDisk(), LogSettings(segment_bytes=600, retention_bytes=1500, retention_ms=-1))
    fill(log, 40)
    before = log.size
    log.delete_old_segments(NOW_MS)
    assert before > 1500 + 600 > log.size >= 1500


def test_retention_stops_at_the_high_watermark() -> None:
    log = open_log(SimulatedDisk(), LogSettings(segment_bytes=600, retention_ms=0))
    fill(log, 40)
    log.high_watermark = log.segments[2].base_offset + 1
    log.delete_old_segments(NOW_MS + DAY_MS)
    assert log.log_start_offset == log.segments[0].base_offset <= log.high_watermark


def test_without_the_delete_policy_only_deleted_records_go() -> None:
    log = open_log(SimulatedDisk(), LogSettings(segment_bytes=600, retention_ms=0, delete=False, compact=True))
    fill(log, 40)
    assert log.delete_old_segments(NOW_MS + DAY_MS) == 0
    log.delete_records(log.segments[2].base_offset + 1)
    assert log.delete_old_segments(NOW_MS) == 2
    assert log.log_start_offset == log.segments[0].base_offset + 1


def test_deleted_files_go_in_two_steps() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    fill(log, 60)
    log.delete_records(-1)
    count = log.delete_old_segments(NOW_MS)
    deleted = [name for name in disk.list_dir(DIRECTORY) if name.endswith(".deleted")]
    assert len(deleted) == count * 4 - 1  # no snapshot at offset 0
    assert log.store.due_deletions(NOW_MS + 59_999) == []
    (job,) = log.store.due_deletions(NOW_MS + 60_000)
    job.run()
    assert not [name for name in disk.list_dir(DIRECTORY) if name.endswith(".deleted")]
    assert log.store.due_deletions(NOW_MS + DAY_MS) == []


def test_records_can_be_deleted_up_to_the_high_watermark() -> None:
    log = open_log(SimulatedDisk())
    fill(log, 10)
    log.high_watermark = 6
    assert log.delete_records(4) == 4
    assert log.delete_records(2) == 4
    assert log.delete_records(-1) == 6
    for offset in (7, -2):
        with pytest.raises(OffsetOutOfRange):
            log.delete_records(offset)
    assert offsets_of(read_all(log))[0] == (6, 6)


@pytest.mark.parametrize("offset", [0, 1, 7, 8, 30, 59, 60, 61])
def test_truncation(offset: int) -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    for n in range(30):
        log.append([make_batch(2, value=b"v" * 50, timestamp=NOW_MS + n)], leader_epoch=n // 7, now_ms=NOW_MS)
    log.high_watermark = 60
    assert log.truncate_to(offset, NOW_MS) == (offset < 60)
    end = min(offset - offset % 2, 60)
    assert (log.log_end_offset, log.high_watermark) == (end, end)
    assert offsets_of(read_all(log)) == [(n, n + 1) for n in range(0, end, 2)]
    assert log.epochs.entries == [(epoch, epoch * 14) for epoch in range(5) if epoch * 14 < end]
    newest = log.offset_of_max_timestamp()
    assert (newest.offset if newest else -1) == end - 1
    log.append([make_batch()], leader_epoch=9, now_ms=NOW_MS)
    log.close(clean=True)
    assert offsets_of(read_all(open_log(disk)))[-1] == (end, end)


def test_starting_anew_at_an_offset() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    fill(log, 60)
    log.truncate_fully_and_start_at(100, NOW_MS)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset, log.size) == (100, 100, 100, 0)
    assert log.epochs.latest_epoch == -1
    log.append([make_batch()], leader_epoch=0, now_ms=NOW_MS)
    log.close(clean=True)
    assert offsets_of(read_all(open_log(disk))) == [(100, 100)]


def test_a_flush_syncs_what_was_there_when_it_began() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    fill(log, 30)
    job = log.begin_flush()
    assert job is not None
    fill(log, 30)
    job.run()
    log.finish_flush(job)
    assert (log.flush_state.recovery_point, log.log_end_offset) == (30, 60)
    disk.crash()
    log = open_log(disk, clean=False, recovery_point=log.checkpointed_recovery_point)
    assert 30 <= log.log_end_offset < 60  # the rest of its last segment may have come along
    assert log.topic_id == TOPIC_ID


@pytest.mark.parametrize("simulated", [True, False])
def test_a_flush_outlives_the_segments_that_retention_takes_meanwhile(simulated: bool, tmp_path: Path) -> None:
    disk: Disk = SimulatedDisk() if simulated else RealDisk()
    directory = DIRECTORY if simulated else str(tmp_path / "t-0")
    log = open_log(disk, LogSettings(segment_bytes=600, retention_ms=0), directory=directory)
    fill(log, 30)
    job = log.begin_flush()
    assert job is not None
    assert log.delete_old_segments(NOW_MS + DAY_MS) > 0
    for deletion in log.store.due_deletions(NOW_MS + 2 * DAY_MS):
        deletion.run()
    job.run()
    log.finish_flush(job)
    assert not log.health.is_offline
    fill(log, 1)


def test_nothing_to_flush_is_no_job() -> None:
    log = open_log(SimulatedDisk())
    fill(log, 3)
    log.flush()
    assert log.begin_flush() is None


def test_times_lead_to_records() -> None:
    log = open_log(SimulatedDisk())
    times = [random.Random(7).randrange(1000) for _ in range(200)]
    for n in range(0, 200, 4):
        records = times[n : n + 4]
        for offset, time in enumerate(records):
            log.append([make_batch(timestamp=NOW_MS + time)], leader_epoch=n, now_ms=NOW_MS)
            assert log.log_end_offset == n + offset + 1
    log.high_watermark = 50
    log.delete_records(40)
    for target in (0, 1, 500, 998, 999, 1000):
        # Segments and batches whose max timestamp is smaller are skipped: the first record by offset is returned.
        expected = next((n for n in range(40, 200) if times[n] >= target), None)
        found = log.offset_for_timestamp(NOW_MS + target)
        assert (found.offset if found else None) == expected
    newest = log.offset_of_max_timestamp()
    assert newest is not None
    assert newest[:2] == (NOW_MS + max(times), times.index(max(times)))


def test_times_within_a_batch_and_of_log_append_time() -> None:
    log = open_log(SimulatedDisk())
    log.append([make_batch(10, timestamp=NOW_MS)], leader_epoch=3, now_ms=NOW_MS)
    assert log.offset_for_timestamp(NOW_MS + 4) == (NOW_MS + 4, 4, 3)
    assert log.offset_for_timestamp(NOW_MS + 10) is None
    assert log.offset_of_max_timestamp() == (NOW_MS + 9, 9, 3)


def test_an_empty_log_has_no_times() -> None:
    log = open_log(SimulatedDisk())
    assert log.offset_for_timestamp(0) is None
    assert log.offset_of_max_timestamp() is None


def test_epochs_tell_where_they_ended() -> None:
    log = open_log(SimulatedDisk())
    assert [log.end_offset_for_epoch(epoch) for epoch in (-2, -1, 0)] == [(-1, -1)] * 3
    for epoch in (2, 2, 5):
        log.append([make_batch(2)], leader_epoch=epoch, now_ms=NOW_MS)
    assert [log.end_offset_for_epoch(epoch) for epoch in (-2, -1, 0, 2, 3, 5, 6)] == [
        (-1, -1),
        (-1, -1),
        (0, 0),
        (2, 4),
        (2, 4),
        (5, 6),
        (-1, -1),
    ]


def clean_first_two(disk: SimulatedDisk, log: PartitionLog) -> tuple[list[Segment], list[Segment]]:
    """Every second batch of the first two segments, as a cleaner would leave them: sealed and synced."""
    old = [log.segments[0], log.segments[1]]
    cleaned = Segment.create(
        disk, DIRECTORY, 0, index_interval_bytes=200, now_ms=NOW_MS, cache=IndexCache(), suffix=CLEANED
    )
    for segment in old:
        for position, header in segment.batches.headers():
            if header.base_offset % 2 == 0:
                data = segment.file.read_at(position, header.size)
                place = BatchPlacement(header.base_offset, header.last_offset, header.max_timestamp, header.size)
                cleaned.append([data], [place])
    cleaned.seal()
    for path in cleaned.files.existing_paths():
        disk.open(path).sync()
    disk.sync_dir(DIRECTORY)
    cleaned.synced = True
    return [cleaned], old


def test_cleaned_segments_take_the_place_of_their_sources() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    fill(log, 60)
    found = log.locate(1, max_bytes=100, end_offset=60)
    assert found is not None
    cleaned, old = clean_first_two(disk, log)
    end = log.segments[2].base_offset
    log.store.replace(cleaned, old, log.settings, NOW_MS)
    expected = [(n, n) for n in range(60) if n % 2 == 0 or n >= end]
    assert offsets_of(read_all(log)) == expected
    assert found.read()
    assert log.size == sum(segment.size for segment in log.segments)
    for job in log.store.due_deletions(NOW_MS + 60_000):
        job.run()
    assert not [name for name in disk.list_dir(DIRECTORY) if name.endswith((".swap", ".cleaned", ".deleted"))]
    log.close(clean=True)
    assert offsets_of(read_all(open_log(disk))) == expected


def test_only_sealed_runs_can_be_replaced() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    fill(log, 60)
    cleaned, old = clean_first_two(disk, log)
    with pytest.raises(ValueError, match="sealed"):
        log.store.replace(cleaned, [*old, log.segments.active], log.settings, NOW_MS)
    with pytest.raises(ValueError, match="begin"):
        log.store.replace(cleaned, old[1:], log.settings, NOW_MS)


@pytest.mark.parametrize("power", [True, False])
def test_a_swap_cut_short_anywhere_is_undone_or_completed(power: bool) -> None:
    for step in itertools.count(1):
        disk = SimulatedDisk()
        log = open_log(disk, SMALL)
        fill(log, 60)
        log.flush()
        cleaned, old = clean_first_two(disk, log)
        end = log.segments[2].base_offset
        whole = [(n, n) for n in range(60)]
        thinned = [(n, n) for n in range(60) if n % 2 == 0 or n >= end]
        disk.power_cut_at = disk.operations + step
        try:
            log.store.replace(cleaned, old, log.settings, NOW_MS)
            for job in log.store.due_deletions(NOW_MS + 60_000):
                job.run()
            finished = True
        except PowerCut:
            finished = False
        if power:
            disk.crash(random.Random(step))
        else:
            disk.kill()
        reopened = open_log(
            disk,
            clean=False,
            recovery_point=log.checkpointed_recovery_point,
        )
        found = offsets_of(read_all(reopened))
        assert found in (whole, thinned)
        assert damages_of(reopened) == []
        if finished:
            assert found == thinned
            assert step > 10
            break
