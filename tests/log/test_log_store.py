"""The log directories of a broker: their contents, restarts, checkpoints."""

import random
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from log_fixtures import NOW_MS, PARTITION, SMALL, TOPIC_ID, fill, open_store, read_all

from barnabas.env import RealDisk
from barnabas.log.directory_lock import DirectoryLock
from barnabas.log.log_store import LogStore
from barnabas.model import TopicPartition
from barnabas.testing.disk import SimulatedDisk
from barnabas.wire.errors import InconsistentTopicId, KafkaStorageError, UnknownTopicOrPartition

OTHER = TopicPartition("my-topic.with_all", 12)


def test_what_lies_in_a_directory_is_what_kafka_puts_there() -> None:
    disk = SimulatedDisk()
    store = open_store(disk)
    log = store.create(PARTITION, TOPIC_ID)
    fill(log, 3)
    log.delete_records(2)
    store.directories[0].cleaner_offsets[PARTITION] = 1
    assert disk.read_file(f"/logs/{PARTITION}/partition.metadata") == b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAATQ"
    store.close()
    assert disk.read_file("/logs/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":-1}'
    assert disk.read_file("/logs/recovery-point-offset-checkpoint") == b"0\n1\ntopic 0 3\n"
    assert disk.read_file("/logs/log-start-offset-checkpoint") == b"0\n1\ntopic 0 2\n"
    assert disk.read_file("/logs/replication-offset-checkpoint") == b"0\n1\ntopic 0 3\n"
    assert disk.read_file("/logs/cleaner-offset-checkpoint") == b"0\n1\ntopic 0 1\n"
    properties = disk.read_file("/logs/meta.properties").decode().splitlines()
    assert {"version=1", "cluster.id=cluster", "node.id=1"} < set(properties)
    assert sorted(disk.list_dir(f"/logs/{PARTITION}")) == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000003.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]


def test_logs_are_opened_when_they_are_first_asked_for() -> None:
    disk = SimulatedDisk()
    store = open_store(disk)
    for partition in (PARTITION, OTHER):
        fill(store.create(partition, TOPIC_ID), 3)
    store.close()
    store = open_store(disk)
    assert store.opened() == []
    assert {stored.topic_partition for stored in store.partitions()} == {PARTITION, OTHER}
    assert store.topic_id_of(OTHER) == TOPIC_ID
    assert store.opened() == []
    assert store.find(OTHER) is None
    log = store.get(OTHER)
    assert (log.log_end_offset, log.high_watermark) == (3, 3)
    assert store.opened() == [log]
    assert store.get(OTHER) is log is store.find(OTHER)
    with pytest.raises(UnknownTopicOrPartition):
        store.get(TopicPartition("nobody", 0))


def test_checkpoints_keep_partitions_that_were_not_opened() -> None:
    disk = SimulatedDisk()
    store = open_store(disk)
    for partition in (PARTITION, OTHER):
        fill(store.create(partition, TOPIC_ID), 3)
    store.close()
    store = open_store(disk)
    fill(store.get(PARTITION), 2)
    store.close()
    assert disk.read_file("/logs/recovery-point-offset-checkpoint") == b"0\n2\nmy-topic.with_all 12 3\ntopic 0 5\n"


def test_checkpoints_are_written_only_when_they_change() -> None:
    disk = SimulatedDisk()
    store = open_store(disk)
    fill(store.create(PARTITION, TOPIC_ID), 3)
    store.checkpoint()
    before = disk.operations
    store.checkpoint()
    assert disk.operations == before
    assert store.begin_checkpoint() == []


def test_an_untouched_log_stays_unclean_over_a_clean_close() -> None:
    disk = SimulatedDisk()
    store = open_store(disk)
    for partition in (PARTITION, OTHER):
        fill(store.create(partition, TOPIC_ID), 3)
    store.checkpoint()
    disk.kill()

    store = open_store(disk)
    assert store.needs_recovery(PARTITION)
    store.get(PARTITION)
    assert not store.needs_recovery(PARTITION)
    store.close()
    assert not disk.exists("/logs/.kafka_cleanshutdown")

    store = open_store(disk)
    assert store.needs_recovery(OTHER)
    store.get(OTHER)
    store.get(PARTITION)
    store.close()
    assert disk.exists("/logs/.kafka_cleanshutdown")

    store = open_store(disk)
    assert not store.needs_recovery(OTHER)
    assert not disk.exists("/logs/.kafka_cleanshutdown")


def test_a_recovery_can_run_apart() -> None:
    disk = SimulatedDisk()
    store = open_store(disk)
    fill(store.create(PARTITION, TOPIC_ID), 30)
    disk.kill()
    store = open_store(disk)
    job = store.begin_open(PARTITION)
    job.run()
    log = store.finish_open(job)
    assert log.log_end_offset == 30
    assert store.get(PARTITION) is log


def test_a_partition_is_created_once_per_topic_id() -> None:
    disk = SimulatedDisk()
    store = open_store(disk)
    log = store.create(PARTITION, TOPIC_ID)
    assert store.create(PARTITION, TOPIC_ID) is log
    with pytest.raises(InconsistentTopicId):
        store.create(PARTITION, uuid.UUID(int=78))


def test_new_partitions_go_where_fewest_are() -> None:
    store = open_store(SimulatedDisk(), "/a", "/b", "/c")
    for n in range(7):
        store.create(TopicPartition("t", n), TOPIC_ID)
    assert [len(directory.partitions) for directory in store.directories] == [3, 2, 2]


def test_a_deleted_partition_is_renamed_now_and_removed_later() -> None:
    disk = SimulatedDisk()
    now_ms = NOW_MS
    store = LogStore(
        disk,
        ["/logs"],
        cluster_id="cluster",
        node_id=1,
        settings_of=lambda _: SMALL,
        now_ms=lambda: now_ms,
        random=random.Random(1),
    )
    log = store.create(PARTITION, TOPIC_ID)
    fill(log, 60)
    found = log.locate(0, max_bytes=100, end_offset=60)
    assert found is not None
    store.checkpoint()
    store.delete(PARTITION)
    assert PARTITION not in store
    (doomed,) = [name for name in disk.list_dir("/logs") if name.endswith("-delete")]
    assert doomed.startswith("topic-0.")
    assert found.read()
    assert store.create(PARTITION, uuid.UUID(int=78)).log_end_offset == 0
    assert store.due_deletions() == []
    now_ms += SMALL.file_delete_delay_ms
    for job in store.due_deletions():
        job.run()
    assert not disk.exists(f"/logs/{doomed}")
    store.checkpoint()
    assert disk.read_file("/logs/recovery-point-offset-checkpoint") == b"0\n1\ntopic 0 0\n"


def test_a_deletion_that_was_interrupted_is_completed_after_the_restart() -> None:
    disk = SimulatedDisk()
    store = open_store(disk)
    fill(store.create(PARTITION, TOPIC_ID), 3)
    store.delete(PARTITION)
    store.close()
    store = open_store(disk)
    assert list(store.partitions()) == []
    for job in store.due_deletions():
        job.run()
    assert not [name for name in disk.list_dir("/logs") if "topic" in name]


def test_a_long_name_still_fits_when_it_is_deleted() -> None:
    disk = SimulatedDisk()
    store = open_store(disk)
    partition = TopicPartition("t" * 249, 0)
    store.create(partition, TOPIC_ID)
    store.delete(partition)
    (doomed,) = [name for name in disk.list_dir("/logs") if name.endswith("-delete")]
    assert len(doomed) == 255


def test_a_directory_of_another_cluster_or_node_is_refused() -> None:
    disk = SimulatedDisk()
    open_store(disk).close()
    for cluster_id, node_id in (("other", 1), ("cluster", 2)):
        with pytest.raises(ValueError, match="belongs to node 1 of cluster cluster"):
            LogStore(
                disk,
                ["/logs"],
                cluster_id=cluster_id,
                node_id=node_id,
                settings_of=lambda _: SMALL,
                now_ms=lambda: NOW_MS,
                random=random.Random(1),
            )


def test_a_directory_that_cannot_be_formatted_for_lack_of_room_is_offline() -> None:
    disk = SimulatedDisk(capacity_bytes=10)
    store = open_store(disk)
    assert store.directories[0].health.is_offline
    with pytest.raises(KafkaStorageError, match="offline"):
        store.create(PARTITION, TOPIC_ID)
    store.close()


def test_damaged_checkpoints_are_done_without() -> None:
    disk = SimulatedDisk()
    store = open_store(disk)
    fill(store.create(PARTITION, TOPIC_ID), 60)
    store.checkpoint()
    disk.kill()
    for name in disk.list_dir("/logs"):
        if name.endswith("-checkpoint"):
            disk.replace_file(f"/logs/{name}", b"0\n3\ntopic 0")
    log = open_store(disk).get(PARTITION)
    assert (log.log_start_offset, log.log_end_offset, log.recovery_point) == (0, 60, 0)


def test_on_a_real_disk_one_process_holds_the_lock(tmp_path: Path) -> None:
    def open_real() -> LogStore:
        return LogStore(
            RealDisk(),
            [f"{tmp_path}/logs"],
            cluster_id="cluster",
            node_id=1,
            settings_of=lambda _: SMALL,
            now_ms=lambda: NOW_MS,
            random=random.Random(1),
            lock=DirectoryLock,
        )

    store = open_real()
    attempt = f"from barnabas.log.directory_lock import DirectoryLock; DirectoryLock({str(tmp_path / 'logs')!r})"
    other = subprocess.run([sys.executable, "-c", attempt], capture_output=True, text=True, check=False)
    assert "is in use by another process" in other.stderr
    fill(store.create(PARTITION, TOPIC_ID), 60)
    store.close()
    assert subprocess.run([sys.executable, "-c", attempt], check=False).returncode == 0
    store = open_real()
    assert len(read_all(store.get(PARTITION))) == 60
    store.close()
