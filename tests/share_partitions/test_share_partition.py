"""A share-partition with its log, its clock and a persister that fails, waits or is replaced."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from barnabas.model.share import SharePartitionKey, StateBatch, StateRead, StateWrite, overlay, pruned
from barnabas.records.batch import read_batch
from barnabas.records.record import Record, build_batch
from barnabas.share_partitions.core.delivery import SharePartitionCore
from barnabas.share_partitions.core.rules import EARLIEST, ShareRules
from barnabas.share_partitions.core.terms import ACCEPT, RELEASE, Acknowledgement, Acquired
from barnabas.share_partitions.share_partition import SharePartition
from barnabas.testing.clock import VirtualClock
from barnabas.wire.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    ErrorCode,
    FencedStateEpoch,
    InvalidRecordState,
    InvalidRequest,
    KafkaError,
    NotLeaderOrFollower,
    UnknownTopicOrPartition,
)
from one_partition import TOPIC_ID, led_partition

KEY = SharePartitionKey("g", TOPIC_ID, 0)


class FakePersister:
    """Stores the state, or refuses or waits if the test says so."""

    def __init__(self, start_offset: int = -1) -> None:
        self.start_offset = start_offset
        self.batches: list[StateBatch] = []
        self.writes: list[StateWrite] = []
        self.refuse: Exception | None = None
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    async def read(self, key: SharePartitionKey, *, leader_epoch: int) -> StateRead:
        if self.refuse is not None:
            raise self.refuse
        return StateRead(1, self.start_offset, tuple(self.batches))

    async def write(self, key: SharePartitionKey, write: StateWrite) -> None:
        self.writes.append(write)
        await self.goes_on.wait()
        if self.refuse is not None:
            raise self.refuse
        self.start_offset = write.start_offset
        self.batches = pruned(self.batches, write.start_offset)
        overlay(self.batches, pruned(write.batches, write.start_offset))


class Watcher:
    def __init__(self) -> None:
        self.wakes = 0

    def wake(self) -> None:
        self.wakes += 1


class Bench:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.partition = led_partition(self.clock)
        self.persister = FakePersister()
        self.fenced: list[SharePartition] = []

    def append(self, count: int) -> None:
        now_ms = self.clock.now_ms()
        records = [Record(timestamp=now_ms, value=b"x")] * count
        self.partition.append([read_batch(build_batch(records))], now_ms=now_ms)

    async def share(self) -> SharePartition:
        made = SharePartition(
            KEY,
            self.partition,
            persister=self.persister,
            clock=self.clock,
            wait_clock=self.clock,
            rules=lambda: ShareRules(offset_reset=EARLIEST),
            on_fenced=self.fenced.append,
        )
        await self.clock.elapse(0)
        return made

    def acquire(self, share: SharePartition, member: str = "a") -> list[Acquired]:
        located = share.locate(1 << 20, at_least_one_batch=True)
        if located is None:
            return []
        handed = share.acquire(member, located.offset, located.read(), records_max=100, batch_size=100, exact=False)
        return handed.acquired


def run(scenario: Callable[[Bench], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scenario(Bench())

    asyncio.run(whole())


def test_nothing_is_handed_out_before_its_beginning_is_remembered() -> None:
    async def scenario(bench: Bench) -> None:
        bench.append(3)
        bench.persister.goes_on.clear()
        share = await bench.share()
        assert bench.acquire(share) == []
        watcher = Watcher()
        share.watch(watcher)
        bench.persister.goes_on.set()
        await bench.clock.elapse(0)
        assert watcher.wakes
        assert bench.persister.start_offset == 0
        assert bench.acquire(share) == [Acquired(0, 2, 1)]

    run(scenario)


def test_a_coordinator_that_is_not_ready_is_asked_again() -> None:
    async def scenario(bench: Bench) -> None:
        bench.append(1)
        bench.persister.refuse = CoordinatorLoadInProgress("soon")
        share = await bench.share()
        await bench.clock.elapse(10_000)
        share.check()
        assert bench.acquire(share) == []
        bench.persister.refuse = None
        await bench.clock.elapse(2_000)
        assert bench.acquire(share) == [Acquired(0, 0, 1)]

    run(scenario)


def test_who_has_no_state_is_told() -> None:
    async def scenario(bench: Bench) -> None:
        bench.persister.refuse = InvalidRequest("uninitialized")
        share = await bench.share()
        with pytest.raises(UnknownTopicOrPartition):
            share.check()
        assert bench.fenced == [share]

    run(scenario)


def test_an_answer_waits_for_the_persister_and_writes_are_gathered() -> None:
    async def scenario(bench: Bench) -> None:
        bench.append(9)
        share = await bench.share()
        bench.acquire(share)
        bench.persister.goes_on.clear()
        bench.persister.writes.clear()
        answers = [
            asyncio.ensure_future(share.acknowledge("a", [Acknowledgement(offset, offset, [ACCEPT])]))
            for offset in range(3)
        ]
        await bench.clock.elapse(0)
        assert not any(answer.done() for answer in answers)
        bench.persister.goes_on.set()
        await asyncio.gather(*answers)
        assert [len(write.batches) for write in bench.persister.writes] in ([3], [1, 2])
        assert bench.persister.batches == [StateBatch(0, 2, 2, 1)]

    run(scenario)


def test_what_is_not_remembered_is_not_acknowledged() -> None:
    async def scenario(bench: Bench) -> None:
        bench.append(3)
        share = await bench.share()
        bench.acquire(share)
        bench.persister.refuse = CoordinatorLoadInProgress("moved")
        with pytest.raises(CoordinatorNotAvailable):
            await share.acknowledge("a", [Acknowledgement(0, 2, [ACCEPT])])
        bench.persister.refuse = None
        await share.acknowledge("a", [Acknowledgement(0, 1, [ACCEPT])])
        await bench.clock.elapse(30_000)
        assert bench.acquire(share, "b") == [Acquired(2, 2, 2)]
        with pytest.raises(InvalidRecordState):
            await share.acknowledge("a", [Acknowledgement(2, 2, [ACCEPT])])

    run(scenario)


def test_a_defect_while_writing_leaves_no_acknowledgement_without_an_answer() -> None:
    async def scenario(bench: Bench) -> None:
        bench.append(3)
        share = await bench.share()
        bench.acquire(share)
        bench.persister.refuse = ZeroDivisionError("a defect")
        bench.persister.goes_on.clear()
        answers = [
            asyncio.ensure_future(share.acknowledge("a", [Acknowledgement(offset, offset, [ACCEPT])]))
            for offset in range(3)
        ]
        await bench.clock.elapse(0)
        bench.persister.goes_on.set()
        await bench.clock.elapse(0)
        assert [answer.done() for answer in answers] == [True] * 3
        for answer in answers:
            with pytest.raises(KafkaError, match="a defect") as refusal:
                await answer
            assert refusal.value.code == ErrorCode.unknown_server_error
        bench.persister.refuse = None
        await share.acknowledge("a", [Acknowledgement(0, 2, [ACCEPT])])
        assert bench.persister.batches == [StateBatch(0, 2, 2, 1)]

    run(scenario)


def test_a_defect_after_writing_leaves_no_acknowledgement_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    async def scenario(bench: Bench) -> None:
        bench.append(3)
        share = await bench.share()
        bench.acquire(share)
        monkeypatch.setattr(SharePartitionCore, "commit", defect)
        with pytest.raises(KafkaError):
            await share.acknowledge("a", [Acknowledgement(0, 2, [ACCEPT])])
        monkeypatch.undo()
        assert bench.fenced == [share], "the next one begins with what is stored"
        again = await bench.share()
        assert bench.acquire(again) == []

    run(scenario)


def test_a_defect_while_loading_is_told_and_does_not_last() -> None:
    async def scenario(bench: Bench) -> None:
        bench.append(3)
        bench.persister.refuse = ZeroDivisionError("a defect")
        share = await bench.share()
        with pytest.raises(KafkaError, match="a defect") as refusal:
            share.check()
        assert refusal.value.code == ErrorCode.unknown_server_error
        with pytest.raises(KafkaError):
            await share.acknowledge("a", [Acknowledgement(0, 0, [ACCEPT])])
        assert bench.fenced == [share], "the next member that asks makes a new one"
        await share.settle()

    run(scenario)


def test_a_state_that_was_replaced_ends_it() -> None:
    async def scenario(bench: Bench) -> None:
        bench.append(3)
        share = await bench.share()
        bench.acquire(share)
        bench.persister.refuse = FencedStateEpoch("altered")
        with pytest.raises(NotLeaderOrFollower):
            await share.acknowledge("a", [Acknowledgement(0, 2, [RELEASE])])
        assert bench.fenced == [share]
        assert bench.acquire(share) == []
        with pytest.raises(NotLeaderOrFollower):
            share.check()

    run(scenario)


def test_so_does_another_leader() -> None:
    async def scenario(bench: Bench) -> None:
        share = await bench.share()
        bench.partition.lead(leader=1, leader_epoch=1)
        with pytest.raises(KafkaError):
            share.check()

    run(scenario)


def test_a_client_that_goes_away_does_not_undo_its_acknowledgement() -> None:
    async def scenario(bench: Bench) -> None:
        bench.append(2)
        share = await bench.share()
        bench.acquire(share)
        bench.persister.goes_on.clear()
        answer = asyncio.ensure_future(share.acknowledge("a", [Acknowledgement(0, 1, [ACCEPT])]))
        await bench.clock.elapse(0)
        answer.cancel()
        await bench.clock.elapse(0)
        bench.persister.goes_on.set()
        await bench.clock.elapse(60_000)
        assert bench.persister.batches == [StateBatch(0, 1, 2, 1)]
        assert bench.acquire(share, "b") == []

    run(scenario)


def test_it_is_recovered_from_what_was_remembered() -> None:
    async def scenario(bench: Bench) -> None:
        bench.append(6)
        share = await bench.share()
        bench.acquire(share)
        await share.acknowledge("a", [Acknowledgement(0, 1, [ACCEPT]), Acknowledgement(3, 3, [ACCEPT])])
        again = await bench.share()
        assert bench.acquire(again, "b") == [Acquired(2, 2, 1), Acquired(4, 5, 1)]

    run(scenario)
