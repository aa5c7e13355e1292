"""A move between log directories, with the power cut at every change it makes to the disk."""

import random
import uuid
from collections.abc import Iterator

import pytest
from log_fixtures import NOW_MS, PARTITION, SMALL, TOPIC_ID, fill
from log_fixtures import read_all as read_batches

from barnabas.log.future_log import FutureLog
from barnabas.log.log_store import LogStore
from barnabas.log.partition_log import PartitionLog
from barnabas.log.partition_metadata import write_topic_id
from barnabas.testing.disk import PowerCut, SimulatedDisk
from barnabas.wire.errors import KafkaStorageError

PATHS = ("/one", "/two")


def open_stores(disk: SimulatedDisk) -> LogStore:
    return LogStore(
        disk,
        PATHS,
        cluster_id="cluster",
        node_id=1,
        settings_of=lambda _: SMALL,
        now_ms=lambda: NOW_MS,
        random=random.Random(5),
    )


def read_all(log: PartitionLog) -> list[int]:
    """The offsets of all batches; there is one record in each."""
    return [batch.header.base_offset for batch in read_batches(log)]


def flush(log: PartitionLog) -> int:
    log.flush()
    return log.log_end_offset


class Mover:
    """The steps of `replication.log_moves`, without an event loop; remembers what was synced."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.disk = disk
        self.store = open_stores(disk)
        self.log = self.store.create(PARTITION, TOPIC_ID)
        fill(self.log, 100)
        self.synced = flush(self.log)
        self.written = self.synced

    def write(self, count: int, *, sync: bool) -> None:
        fill(self.log, count)
        self.written = self.log.log_end_offset
        if sync:
            self.synced = flush(self.log)

    def steps(self) -> Iterator[None]:
        source = self.store.directory_of(PARTITION)
        target = next(each for each in self.store.directories if each is not source)
        future = self.store.begin_move(PARTITION, target)
        future.begin()
        self.log.roll(NOW_MS)
        yield from self._copy(future)
        self.write(30, sync=True)
        yield from self._copy(future)
        self.write(2, sync=True)
        yield from self._copy(future)
        old = self.log
        self.log = future.take_over(old, NOW_MS)
        self.store.finish_move(PARTITION, target, self.log)
        yield
        self.write(3, sync=False)
        self.synced = flush(self.log)
        yield
        self.store.remove_later(old)
        self.write(3, sync=True)
        for job in self.store.due_deletions():
            job.run()

    def _copy(self, future: FutureLog) -> Iterator[None]:
        for segment in future.segments_to_copy(self.log):
            for job in future.copy_jobs(segment):
                job.run()
                yield
            future.finish(segment)


def changes_of_a_whole_move() -> tuple[int, int]:
    disk = SimulatedDisk()
    mover = Mover(disk)
    begun = disk.operations
    for _ in mover.steps():
        pass
    assert read_all(mover.log) == list(range(mover.written))
    return begun, disk.operations


FIRST, LAST = changes_of_a_whole_move()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cut", range(FIRST + 1, LAST + 1, 3))
def test_a_power_cut_at_any_change_loses_nothing_that_was_synced(cut: int, seed: int) -> None:
    disk = SimulatedDisk()
    mover = Mover(disk)
    disk.power_cut_at = cut + seed % 3
    try:
        for _ in mover.steps():
            pass
    except PowerCut:
        pass
    disk.crash(random.Random(seed) if seed else None)
    store = open_stores(disk)
    log = store.get(PARTITION)
    kept = read_all(log)
    assert kept == list(range(len(kept)))
    assert len(kept) >= mover.synced
    homes = [path for path in PATHS if str(PARTITION) in disk.list_dir(path)]
    assert len(homes) == 1
    fill(log, 1)
    store.close()
    assert read_all(open_stores(disk).get(PARTITION)) == list(range(len(kept) + 1))


def test_a_process_that_dies_loses_nothing_at_all() -> None:
    for cut in range(FIRST + 1, LAST + 1, 5):
        disk = SimulatedDisk()
        mover = Mover(disk)
        disk.power_cut_at = cut
        try:
            for _ in mover.steps():
                pass
        except PowerCut:
            pass
        disk.kill()
        kept = read_all(open_stores(disk).get(PARTITION))
        assert len(kept) >= mover.written
        assert kept == list(range(len(kept)))


def test_an_interrupted_move_is_remembered_and_its_copy_removed() -> None:
    disk = SimulatedDisk()
    mover = Mover(disk)
    steps = mover.steps()
    next(steps)
    disk.kill()
    store = open_stores(disk)
    moves = [(each.path, each.interrupted_moves) for each in store.directories if each.interrupted_moves]
    assert [partitions for _, partitions in moves] == [[PARTITION]]
    for job in store.due_deletions():
        job.run()
    assert not any("-future" in name for path in PATHS for name in disk.list_dir(path))


def test_two_different_topics_of_one_name_are_not_judged() -> None:
    disk = SimulatedDisk()
    mover = Mover(disk)
    mover.store.close()
    disk.make_dirs(f"/two/{PARTITION}")
    write_topic_id(disk, f"/two/{PARTITION}", uuid.UUID(int=TOPIC_ID.int + 1))
    with pytest.raises(KafkaStorageError, match="two different topics"):
        open_stores(disk)


def test_what_retention_or_the_cleaner_takes_leaves_the_copy() -> None:
    disk = SimulatedDisk()
    mover = Mover(disk)
    target = next(each for each in mover.store.directories if each is not mover.store.directory_of(PARTITION))
    future = mover.store.begin_move(PARTITION, target)
    future.begin()
    mover.log.roll(NOW_MS)
    for _ in mover._copy(future):
        pass
    assert future.segments_to_copy(mover.log) == []
    first = mover.log.segments[0]
    mover.log.store.delete_oldest([first], mover.log.settings, NOW_MS)
    assert future.segments_to_copy(mover.log) == []
    assert f"{first.base_offset:020d}.log" not in disk.list_dir(future.path)
    assert future.size == mover.log.size
