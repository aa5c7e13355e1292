"""The share coordinator's shell: answers wait for the log, and the log is pruned."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

import pytest
from memory_log import MemoryLog

from barnabas.coordinator.core.ports import LoggedBatch
from barnabas.coordinator.share.settings import ShareCoordinatorSettings
from barnabas.coordinator.share_coordinator import ShareCoordinator
from barnabas.model.share import SharePartitionKey, StateBatch, StateRead, StateWrite
from barnabas.testing.clock import VirtualClock
from barnabas.wire.errors import (
    CoordinatorNotAvailable,
    InvalidGroupId,
    KafkaStorageError,
    NotCoordinator,
    NotLeaderOrFollower,
)

KEY = SharePartitionKey("g", uuid.UUID(int=7), 0)
OTHER = SharePartitionKey("g", uuid.UUID(int=7), 1)
PRUNE_MS = 1_000


class Positioned(NamedTuple):
    offset: int
    key: bytes
    value: bytes | None


class StateLog(MemoryLog):
    """With offsets, and a prefix that can be deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.cut: dict[int, int] = {}

    def end_offset(self, partition: int) -> int:
        return len(self.partitions.get(partition, []))

    async def delete_before(self, partition: int, offset: int) -> None:
        if self.refuse is not None:
            raise self.refuse
        self.cut[partition] = offset

    async def read_all(self, partition: int) -> AsyncIterator[LoggedBatch]:
        begin = self.cut.get(partition, 0)
        for offset, (key, value) in enumerate(self.partitions.get(partition, [])[begin:], begin):
            yield LoggedBatch([Positioned(offset, key, value)])


class Bench:
    def __init__(self, *, updates_per_snapshot: int = 2) -> None:
        self.clock = VirtualClock()
        self.log = StateLog()
        self.settings = ShareCoordinatorSettings(
            updates_per_snapshot=updates_per_snapshot, prune_interval_ms=PRUNE_MS, write_timeout_ms=500
        )
        self.coordinator = self.new()

    def new(self) -> ShareCoordinator:
        return ShareCoordinator(
            log=self.log,
            clock=self.clock,
            settings=self.settings,
            partition_count=1,
            has_partition=lambda _: True,
        )

    async def begin(self) -> None:
        await self.coordinator.load(0, 0)
        for key in (KEY, OTHER):
            await self.coordinator.initialize(key, state_epoch=1, start_offset=0)

    async def write(self, offset: int, key: SharePartitionKey = KEY) -> None:
        await self.coordinator.write(key, StateWrite(1, 0, -1, 0, (StateBatch(offset, offset, 2, offset + 1),)))


def run(scenario: Callable[[Bench], Awaitable[None]]) -> None:
    async def live() -> None:
        bench = Bench()
        await scenario(bench)
        bench.coordinator.unload(0)

    asyncio.run(live())


def test_an_answer_waits_until_its_records_are_committed() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.begin()
        bench.log.hold = True
        writing = asyncio.ensure_future(bench.write(3))
        reading = asyncio.ensure_future(bench.coordinator.read(KEY, leader_epoch=-1))
        await bench.clock.elapse(10)
        assert not writing.done()
        assert not reading.done(), "nobody reads what may yet be lost"
        bench.log.settle()
        await writing
        assert await reading == StateRead(1, 0, (StateBatch(3, 3, 2, 4),))

    run(scenario)


def test_what_cannot_be_written_is_not_known() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.begin()
        bench.log.refuse = KafkaStorageError("the disk is full")
        with pytest.raises(CoordinatorNotAvailable):
            await bench.write(3)
        bench.log.refuse = None
        assert (await bench.coordinator.read(KEY, leader_epoch=-1)).batches == ()

    run(scenario)


def test_a_write_that_is_not_committed_fails() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.begin()
        bench.log.hold = True
        writing = asyncio.ensure_future(bench.write(3))
        await bench.clock.elapse(0)
        bench.log.settle(NotLeaderOrFollower("another leads"))
        with pytest.raises(NotCoordinator):
            await writing
        late = asyncio.ensure_future(bench.write(4))
        await bench.clock.elapse(501)
        with pytest.raises(CoordinatorNotAvailable):
            await late
        bench.log.settle()

    run(scenario)


def test_the_log_is_cut_off_before_the_oldest_of_the_last_snapshots() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.begin()
        for offset in range(6):
            await bench.write(offset)  # records 2 to 7; 4 and 7 are snapshots
        await bench.clock.elapse(PRUNE_MS)
        assert bench.log.cut == {0: 1}, "the other one has its only snapshot there"
        for offset in range(3):
            await bench.write(offset, OTHER)  # 8 to 10; 10 is a snapshot
        await bench.clock.elapse(PRUNE_MS)
        assert bench.log.cut == {0: 7}
        recovered = bench.new()
        await recovered.load(0, 0)
        for key in (KEY, OTHER):
            known = await bench.coordinator.read(key, leader_epoch=-1)
            assert await recovered.read(key, leader_epoch=-1) == known
        recovered.unload(0)

    run(scenario)


def test_who_cannot_cut_goes_on() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.begin()
        await bench.coordinator.initialize(KEY, state_epoch=2, start_offset=5)
        bench.log.refuse = KafkaStorageError("the disk is full")
        await bench.clock.elapse(PRUNE_MS)
        assert bench.log.cut == {}
        bench.log.refuse = None
        await bench.clock.elapse(PRUNE_MS)
        assert bench.log.cut == {0: 1}

    run(scenario)


def test_a_deleted_topic_takes_its_states_along() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.begin()
        await bench.coordinator.on_topics_deleted({KEY.topic_id})
        assert (await bench.coordinator.summary(KEY)).start_offset == -1

    run(scenario)


def test_a_name_that_cannot_be_stored_is_refused() -> None:
    async def scenario(bench: Bench) -> None:
        await bench.begin()
        with pytest.raises(InvalidGroupId):
            await bench.coordinator.delete(KEY._replace(group_id="x" * 40_000))

    run(scenario)


def test_another_coordinators_states_are_not_here() -> None:
    async def scenario(bench: Bench) -> None:
        with pytest.raises(NotCoordinator):
            await bench.coordinator.summary(KEY)

    run(scenario)
