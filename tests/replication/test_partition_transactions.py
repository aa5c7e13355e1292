"""A partition's part in transactions: guards, markers, and when read_committed fetches are woken."""

import pytest

from barnabas.records.batch import read_batch, split_batches
from barnabas.records.record import Record, build_batch
from barnabas.replication.partition import Partition
from barnabas.testing.clock import VirtualClock
from barnabas.wire.errors import InvalidTxnState, NotLeaderOrFollower
from one_partition import RULES, led_partition


class Watching:
    def __init__(self) -> None:
        self.bytes = 0
        self.wakes = 0

    def appended(self, size: int) -> None:
        self.bytes += size

    def wake(self) -> None:
        self.wakes += 1


@pytest.fixture
def partition() -> Partition:
    return led_partition(VirtualClock())


def write(partition: Partition, producer_id: int = -1) -> int:
    """A batch, transactional if it has a producer; returns its size."""
    sequence = 0 if producer_id >= 0 else -1
    transactional = producer_id >= 0
    batch = build_batch(
        [Record(timestamp=1, value=b"v")],
        producer_id=producer_id,
        producer_epoch=sequence,
        base_sequence=sequence,
        transactional=transactional,
    )
    guard = partition.begin_verification(producer_id, 0, 0) if transactional else None
    partition.append([read_batch(batch)], now_ms=1, guard=guard)
    return len(batch)


def end(partition: Partition, producer_id: int) -> None:
    partition.append_marker(producer_id, 1, 0, commit=True, now_ms=7, transaction_version=2)


def test_readers_of_committed_records_are_woken_when_they_can_have_more(partition: Partition) -> None:
    anybody, committed = Watching(), Watching()
    partition.watch(anybody)
    partition.watch(committed, committed_only=True)
    size = write(partition)
    assert (anybody.bytes, committed.bytes) == (size, size)
    size += write(partition, producer_id=3)
    size += write(partition, producer_id=4)
    assert anybody.bytes == size
    assert committed.bytes < size
    assert partition.last_stable_offset == 1
    end(partition, 3)
    end(partition, 4)
    assert partition.last_stable_offset == 5
    assert (anybody.wakes, committed.wakes) == (0, 2)
    before = committed.bytes
    size = write(partition)
    assert committed.bytes == before + size
    partition.unwatch(anybody)
    partition.unwatch(committed)
    end(partition, 4)
    assert committed.wakes == 2


def test_markers_have_the_time_that_the_topic_gives(partition: Partition) -> None:
    end(partition, 3)
    partition.set_admission_rules(RULES._replace(log_append_time=True))
    end(partition, 4)
    found = partition.log.locate(0, max_bytes=1000, end_offset=2)
    assert found is not None
    first, second = (batch.header for batch in split_batches(found.read()))
    assert (first.is_log_append_time, first.max_timestamp) == (False, 7)
    assert (second.is_log_append_time, second.max_timestamp) == (True, 7)


def test_only_a_leader_verifies_and_marks(partition: Partition) -> None:
    guard = partition.begin_verification(3, 0, 0)
    assert guard is not None
    partition.lead(leader=2, leader_epoch=1)
    with pytest.raises(NotLeaderOrFollower):
        partition.begin_verification(3, 0, 0)
    with pytest.raises(NotLeaderOrFollower):
        end(partition, 3)


def test_without_a_guard_no_transaction_begins(partition: Partition) -> None:
    batch = build_batch(
        [Record(timestamp=1, value=b"v")], producer_id=3, producer_epoch=0, base_sequence=0, transactional=True
    )
    with pytest.raises(InvalidTxnState):
        partition.append([read_batch(batch)], now_ms=1)
    assert partition.log.log_end_offset == 0
