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
from barnabas.log.meta_properties import CorruptMetaProperties
from barnabas.model import TopicPartition
from barnabas.records.batch import split_batches
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
    assert disk.read_file(f"/logs/{PARTITION}/partition.metadata").startswith(
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAATQ\nchecksum: "
    )
    store.close()
    assert disk.read_file("/logs/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":-1}'
    assert without_checksum(disk, "recovery-point-offset-checkpoint") == "topic 0 3"
    assert without_checksum(disk, "log-start-offset-checkpoint") == "topic 0 2"
    assert without_checksum(disk, "replication-offset-checkpoint") == "topic 0 3"
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


def without_checksum(disk: SimulatedDisk, name: str) -> str:
    """The entries of a checkpoint; Kafka must be able to read all of it."""
    version, count, *entries, checksum = disk.read_file(f"/logs/{name}").decode().splitlines()
    assert (version, count) == ("0", str(len(entries) + 1))
    topic, partition, number = checksum.split()
    assert (topic, partition) == ("__barnabas_checksum", "0")
    assert int(number) < 2**32
    return "\n".join(entries)


CHECKPOINTS = ["recovery-point", "log-start", "replication"]


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_digit_that_has_changed_in_a_checkpoint_is_found_out(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """As a log start offset it would hide records, and have them deleted."""
    disk = SimulatedDisk()
    store = open_store(disk)
    log = store.create(PARTITION, TOPIC_ID)
    fill(log, 30)
    log.delete_records(12)
    store.close()
    path = f"/logs/{name}-offset-checkpoint"
    content = disk.read_file(path)
    digits = content.index(b"topic 0 ") + len(b"topic 0 ")
    disk.open(path).write_at(digits, [b"2"])
    assert disk.read_file(path) != content
    log = open_store(disk).get(PARTITION)
    assert (log.log_start_offset, log.log_end_offset) == (0 if name == "log-start" else 12, 30)
    assert f"{path} is damaged (its checksum is wrong)" in caplog.text


def test_a_checkpoint_of_kafkas_is_believed_unless_it_cannot_be(caplog: pytest.LogCaptureFixture) -> None:
    disk = SimulatedDisk()
    store = open_store(disk)
    fill(store.create(PARTITION, TOPIC_ID), 30)
    store.close()
    disk.replace_file("/logs/log-start-offset-checkpoint", b"0\n1\ntopic 0 12\n")
    store = open_store(disk)
    assert store.get(PARTITION).log_start_offset == 12
    store.close()
    disk.replace_file("/logs/log-start-offset-checkpoint", b"0\n1\ntopic 0 72\n")
    assert open_store(disk).get(PARTITION).log_start_offset == 0
    assert "the log start offset of topic-0 is 72, but its high watermark is 30" in caplog.text


@pytest.mark.parametrize("position", range(11, 60, 7))
def test_a_topic_id_that_has_changed_is_found_out(position: int) -> None:
    disk = SimulatedDisk()
    store = open_store(disk)
    fill(store.create(PARTITION, TOPIC_ID), 3)
    store.close()
    path = f"/logs/{PARTITION}/partition.metadata"
    damaged = bytearray(disk.read_file(path))
    if position >= len(damaged):
        return
    damaged[position] = ord("Z")
    disk.replace_file(path, bytes(damaged))
    store = open_store(disk)
    assert store.create(PARTITION, TOPIC_ID).log_end_offset == 3
    assert store.topic_id_of(PARTITION) == TOPIC_ID


def test_a_letter_that_has_changed_in_meta_properties_is_found_out() -> None:
    disk = SimulatedDisk()
    open_store(disk).close()
    content = disk.read_file("/logs/meta.properties")
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] = ord("x") if damaged[position] != ord("x") else ord("y")
        disk.replace_file("/logs/meta.properties", bytes(damaged))
        if content[:position].count(b"\n") == 0 and position < 29:
            continue  # in the words of a comment
        with pytest.raises(CorruptMetaProperties, match=r"/logs/meta.properties is damaged: .*Restore this file"):
            open_store(disk)


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
    assert without_checksum(disk, "recovery-point-offset-checkpoint") == "my-topic.with_all 12 3\ntopic 0 5"


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
    assert without_checksum(disk, "recovery-point-offset-checkpoint") == "topic 0 0"


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
    assert (log.log_start_offset, log.log_end_offset, log.flush_state.recovery_point) == (0, 60, 0)


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


def test_a_power_cut_leaves_no_gap_in_a_log_that_no_checkpoint_knows_yet() -> None:
    """The end of the first segment is lost, and the second one, which is younger, is on disk."""
    disk = SimulatedDisk()
    log = open_store(disk).create(PARTITION, TOPIC_ID)
    fill(log, 60)
    first, second, *_ = (segment.base_offset for segment in log.segments)
    file = disk.open(f"/logs/{PARTITION}/{first:020}.log")
    kept = next(split_batches(file.read_at(0, file.size()))).header
    file.truncate(kept.size)
    disk.kill()
    log = open_store(disk).get(PARTITION)
    assert second > kept.next_offset == log.log_end_offset
    assert [batch.header.base_offset for batch in read_all(log)] == [0]
