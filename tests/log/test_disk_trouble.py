"""Full and failing disks: the errors for clients, what still works, and what is there afterwards."""

import errno

import pytest
from log_fixtures import (
    DIRECTORY,
    NOW_MS,
    PARTITION,
    TOPIC_ID,
    damages_of,
    fill,
    make_batch,
    open_log,
    open_store,
    read_all,
)

from barnabas.model import TopicPartition
from barnabas.testing.disk import Fault, SimulatedDisk
from barnabas.wire.errors import KafkaStorageError


@pytest.mark.parametrize("written", [0, 1, 15, 16, 60, 100])
def test_a_full_disk_refuses_the_append_and_keeps_the_log(written: int) -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    fill(log, 3)
    batch = make_batch(producer_id=5, producer_epoch=0, base_sequence=0, value=b"v" * 50)
    disk.inject(Fault("write", "*.log", errno.ENOSPC, written=written))
    with pytest.raises(KafkaStorageError, match=r"disk .* is full"):
        log.append([batch], leader_epoch=1, now_ms=NOW_MS)
    assert (log.log_end_offset, log.epochs.latest_epoch, log.producers.producers) == (3, 0, {})
    assert disk.size(f"{DIRECTORY}/{0:020d}.log") == log.size
    assert len(read_all(log)) == 3
    appended = log.append([batch], leader_epoch=1, now_ms=NOW_MS)
    assert (appended.base_offset, appended.duplicate) == (3, False)
    assert damages_of(log) == []


def test_a_disk_that_fills_up_byte_by_byte() -> None:
    """Whichever write does not fit any more (batch, index, snapshot, new segment), the log stays valid."""
    disk = SimulatedDisk()
    log = open_log(disk)
    acknowledged = 0
    refused = 0
    disk.capacity_bytes = 0
    for room in range(0, 12_000, 60):
        disk.capacity_bytes = room
        try:
            log.append([make_batch(value=b"v" * 40, timestamp=NOW_MS + room)], leader_epoch=0, now_ms=NOW_MS)
            acknowledged += 1
        except KafkaStorageError:
            refused += 1
        assert log.log_end_offset == acknowledged
        assert not log.health.is_offline
    assert acknowledged > 20
    assert refused > 20
    assert len(read_all(log)) == acknowledged
    disk.capacity_bytes = None
    log.close(clean=True)
    assert len(read_all(open_log(disk))) == acknowledged
    disk.kill()
    assert len(read_all(open_log(disk, clean=False))) == acknowledged


def test_another_error_takes_the_directory_offline_and_no_other() -> None:
    disk = SimulatedDisk()
    store = open_store(disk, "/a", "/b")
    logs = [store.create(TopicPartition("t", n), TOPIC_ID) for n in range(2)]
    assert [log.directory for log in logs] == ["/a/t-0", "/b/t-1"]
    for log in logs:
        fill(log, 3)
    disk.inject(Fault("write", "/a/*.log", errno.EIO, written=7))
    with pytest.raises(KafkaStorageError):
        logs[0].append([make_batch()], leader_epoch=0, now_ms=NOW_MS)
    for attempt in (
        lambda: logs[0].append([make_batch()], leader_epoch=0, now_ms=NOW_MS),
        lambda: logs[0].locate(0, max_bytes=100, end_offset=3),
        logs[0].begin_flush,
        lambda: logs[0].delete_old_segments(NOW_MS),
        lambda: logs[0].truncate_to(1, NOW_MS),
        lambda: store.delete(TopicPartition("t", 0)),
    ):
        with pytest.raises(KafkaStorageError, match="offline"):
            attempt()
    assert [directory.health.is_offline for directory in store.directories] == [True, False]
    logs[1].append([make_batch()], leader_epoch=0, now_ms=NOW_MS)
    assert store.create(TopicPartition("t", 2), TOPIC_ID).directory == "/b/t-2"
    store.checkpoint()
    store.close()
    assert not disk.exists("/a/.kafka_cleanshutdown")
    assert disk.exists("/b/.kafka_cleanshutdown")
    again = open_store(disk, "/a", "/b")
    assert again.get(TopicPartition("t", 0)).log_end_offset == 3
    assert again.get(TopicPartition("t", 1)).log_end_offset == 4


def test_a_failed_sync_is_never_taken_for_a_flush() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    fill(log, 3)
    job = log.begin_flush()
    assert job is not None
    assert log.begin_flush() is None
    disk.inject(Fault("sync", "*.log"))
    job.run()
    with pytest.raises(KafkaStorageError):
        log.finish_flush(job)
    assert log.flush_state.recovery_point == 0
    assert log.health.is_offline


def test_a_failed_read_takes_the_directory_offline() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    fill(log, 3)
    found = log.locate(0, max_bytes=100, end_offset=3)
    assert found is not None
    disk.inject(Fault("read", "*.log"))
    with pytest.raises(KafkaStorageError):
        found.read()
    assert log.health.is_offline


def test_a_slice_that_comes_too_late_does_no_harm() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    fill(log, 60)
    found = log.locate(0, max_bytes=100, end_offset=60)
    assert found is not None
    log.delete_records(60)
    log.delete_old_segments(NOW_MS)
    for job in log.store.due_deletions(NOW_MS + log.settings.file_delete_delay_ms):
        job.run()
    with pytest.raises(KafkaStorageError, match="deleted"):
        found.read()
    assert not log.health.is_offline


def test_a_directory_that_cannot_be_read_at_start_leaves_the_others() -> None:
    disk = SimulatedDisk()
    store = open_store(disk, "/a", "/b")
    store.create(PARTITION, TOPIC_ID)
    store.close()
    disk.inject(Fault("read", "/a/meta.properties"))
    store = open_store(disk, "/a", "/b")
    assert [directory.health.is_offline for directory in store.directories] == [True, False]
    assert store.create(TopicPartition("t", 1), TOPIC_ID).directory == "/b/t-1"
