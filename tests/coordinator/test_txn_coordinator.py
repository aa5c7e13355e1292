"""The shell around the core: answers wait for their records, markers are sent until all are written."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_log import MemoryLog
from txn_core import T0, T1, T2, CountedIds

from barnabas.coordinator.core.ports import EndMarker
from barnabas.coordinator.held_requests import HOLD_MS_MAX
from barnabas.coordinator.txn.describe import ids_matching
from barnabas.coordinator.txn.end_txn import EndTxn
from barnabas.coordinator.txn.init_producer_id import InitProducerId
from barnabas.coordinator.txn.settings import TransactionSettings
from barnabas.coordinator.txn.stored import decode_record
from barnabas.coordinator.txn.transaction import ProducerIdAndEpoch, Transaction
from barnabas.coordinator.txn_coordinator import TransactionCoordinator
from barnabas.model import TopicPartition
from barnabas.testing.clock import VirtualClock
from barnabas.wire.errors import (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidRegularExpression,
    InvalidRequest,
    KafkaError,
    KafkaStorageError,
    NotCoordinator,
    NotLeaderOrFollower,
    TransactionalIdNotFound,
    TransactionCoordinatorFenced,
)
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from property_effort import examples


class MarkerLog:
    """The partitions: they write markers at once, later, or not at all."""

    def __init__(self) -> None:
        self.written: list[tuple[TopicPartition, EndMarker]] = []
        self.refuse: dict[TopicPartition, KafkaError] = {}
        self.hold: set[TopicPartition] = set()
        self.held: list[asyncio.Future[None]] = []

    def write(self, partition: TopicPartition, marker: EndMarker) -> Awaitable[None] | None:
        if partition in self.refuse:
            raise self.refuse[partition]
        self.written.append((partition, marker))
        if partition not in self.hold:
            return None
        held: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.held.append(held)
        return held


class Shell:
    def __init__(self, log: MemoryLog | None = None) -> None:
        self.log = log or MemoryLog()
        self.markers = MarkerLog()
        self.clock = VirtualClock()
        self.ids = CountedIds()
        self.transactions = TransactionCoordinator(
            log=self.log,
            markers=self.markers,
            producer_ids=self.ids,
            clock=self.clock,
            wait_clock=self.clock,
            settings=TransactionSettings(),
            transaction_version=lambda: 2,
            partition_count=1,
        )

    async def init(self, id: str = "x") -> ProducerIdAndEpoch:
        return await self.transactions.init_producer_id(InitProducerId(id, 60_000))

    async def add(self, producer: ProducerIdAndEpoch, *partitions: TopicPartition, id: str = "x") -> None:
        results = await self.transactions.add_partitions(id, *producer, partitions, verify_only=False)
        for error in results.values():
            if error is not None:
                raise error

    async def end(self, producer: ProducerIdAndEpoch, *, commit: bool = True, id: str = "x") -> ProducerIdAndEpoch:
        return await self.transactions.end(EndTxn(id, *producer, commit, 2))

    async def state(self) -> str:
        return (await self.transactions.describe("x")).transaction_state


def in_shell(test: Callable[[Shell], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    async def main() -> None:
        shell = Shell()
        await shell.transactions.load(0, 4)
        await test(shell)

    def run() -> None:
        asyncio.run(main())

    run.__name__ = test.__name__
    return run


@in_shell
async def test_a_transaction_on_one_node_is_over_when_its_end_is_answered(shell: Shell) -> None:
    producer = await shell.init()
    await shell.add(producer, T0, T1)
    after = await shell.end(producer)
    assert after == (1000, 1)
    assert {partition for partition, _ in shell.markers.written} == {T0, T1}
    assert {marker for _, marker in shell.markers.written} == {(1000, 1, 4, True, 2)}
    assert await shell.state() == "CompleteCommit"
    await shell.add(after, T0)


@in_shell
async def test_markers_that_fail_are_sent_again_and_only_they(shell: Shell) -> None:
    producer = await shell.init()
    await shell.add(producer, T0, T1)
    shell.markers.refuse[T1] = NotLeaderOrFollower("moving")
    await shell.end(producer, commit=False)
    assert await shell.state() == "PrepareAbort"
    await shell.clock.elapse(10_000)
    assert [partition for partition, _ in shell.markers.written] == [T0]
    shell.markers.refuse.clear()
    await shell.clock.elapse(1_000)
    assert sorted(partition for partition, _ in shell.markers.written) == [T0, T1]
    assert await shell.state() == "CompleteAbort"


@in_shell
async def test_the_next_transaction_waits_a_little_for_the_last(shell: Shell) -> None:
    producer = await shell.init()
    await shell.add(producer, T0)
    shell.markers.hold.add(T0)
    after = await shell.end(producer)
    assert await shell.state() == "PrepareCommit"
    adding = asyncio.create_task(shell.add(after, T1))
    starting = asyncio.create_task(shell.init())
    await shell.clock.elapse(50)
    assert not adding.done()
    shell.markers.held[0].set_result(None)
    await shell.clock.elapse(0)
    await adding
    assert await starting in {(1000, 2), (1000, 3)}


@in_shell
async def test_nobody_waits_for_long(shell: Shell) -> None:
    producer = await shell.init()
    await shell.add(producer, T0)
    shell.markers.hold.add(T0)
    after = await shell.end(producer)
    waiting = [asyncio.create_task(shell.add(after, T1)), asyncio.create_task(shell.end(producer))]
    await shell.clock.elapse(201)
    for task in waiting:
        with pytest.raises(ConcurrentTransactions):
            await task
    assert shell.transactions.try_add_partitions("x", *after, (T1,)) is None
    shell.markers.held[0].set_result(None)
    await shell.clock.elapse(0)
    assert shell.transactions.try_add_partitions("x", *after, (T1,)) == {T1: None}
    assert shell.transactions.try_add_partitions("x", *after, (T1,), verify_only=True) == {T1: None}
    results = shell.transactions.try_add_partitions("x", *producer, (T1,))
    assert results is not None
    assert results[T1] is not None


@in_shell
async def test_a_new_producer_is_let_in_as_soon_as_the_old_ones_transaction_is_aborted(shell: Shell) -> None:
    producer = await shell.init()
    await shell.add(producer, T0)
    assert await shell.init() == (1000, 2)
    [(_, marker)] = shell.markers.written
    assert not marker.commit


@in_shell
async def test_a_partition_that_is_past_its_marker_needs_no_other(shell: Shell) -> None:
    producer = await shell.init()
    await shell.add(producer, T0, T1)
    shell.markers.refuse[T0] = InvalidProducerEpoch("a later transaction wrote here")
    await shell.end(producer)
    assert await shell.state() == "CompleteCommit"


@in_shell
async def test_another_coordinator_that_took_over_completes_it(shell: Shell) -> None:
    producer = await shell.init()
    await shell.add(producer, T0)
    shell.markers.refuse[T0] = TransactionCoordinatorFenced("epoch 5 was here")
    await shell.end(producer)
    shell.markers.refuse.clear()
    await shell.clock.elapse(60_000)
    assert shell.markers.written == []
    assert await shell.state() == "PrepareCommit"


@in_shell
async def test_many_markers_leave_room_for_others(shell: Shell) -> None:
    partitions = [TopicPartition("t", index) for index in range(1_000)]
    producer = await shell.init()
    await shell.add(producer, *partitions)
    after = await shell.end(producer)
    assert 0 < len(shell.markers.written) < 500
    assert (await shell.init("another")) == (1001, 0)
    await shell.add(after, T0)
    assert {partition for partition, _ in shell.markers.written} == set(partitions)


@in_shell
async def test_what_cannot_be_completed_now_is_completed_later(shell: Shell) -> None:
    producer = await shell.init()
    await shell.add(producer, T0)
    shell.markers.hold.add(T0)
    await shell.end(producer)
    shell.log.refuse = KafkaStorageError("the disk is full")
    shell.markers.held[0].set_result(None)
    await shell.clock.elapse(10_000)
    assert await shell.state() == "PrepareCommit"
    shell.log.refuse = None
    await shell.clock.elapse(1_000)
    assert await shell.state() == "CompleteCommit"


@in_shell
async def test_a_coordinator_that_moved_stops_sending(shell: Shell) -> None:
    producer = await shell.init()
    await shell.add(producer, T0, T1)
    shell.markers.refuse[T0] = NotLeaderOrFollower("moving")
    shell.markers.hold.add(T1)
    await shell.end(producer)
    shell.transactions.unload(0)
    shell.markers.refuse.clear()
    await shell.clock.elapse(60_000)
    assert [partition for partition, _ in shell.markers.written] == [T1]
    with pytest.raises(NotCoordinator):
        await shell.init()
    shell.transactions.expect(0)
    late = [asyncio.create_task(shell.end(producer)), *(asyncio.create_task(shell.init()) for _ in range(2))]
    await shell.clock.elapse(HOLD_MS_MAX)
    for task in late:
        with pytest.raises(CoordinatorLoadInProgress):
            await task
    starting = asyncio.create_task(shell.init("patient"))
    claim = ("patient", 1000, 0, [T0])
    assert shell.transactions.try_add_partitions(*claim) is None, "it takes a pause"
    adding = asyncio.create_task(shell.transactions.add_partitions(*claim, verify_only=False))
    await shell.clock.elapse(HOLD_MS_MAX - 1)
    shell.markers.hold.clear()
    await shell.transactions.load(0, 5)
    assert {marker.coordinator_epoch for _, marker in shell.markers.written[1:]} == {5}
    assert await shell.state() == "CompleteCommit"
    assert (await starting).producer_epoch == 0
    assert isinstance((await adding)[T0], InvalidProducerIdMapping), "it was carried out, after the one before it"


@in_shell
async def test_bad_ids(shell: Shell) -> None:
    for bad in ("", "x" * 40_000):
        with pytest.raises(InvalidRequest):
            await shell.init(bad)
        with pytest.raises(InvalidRequest):
            await shell.transactions.describe(bad)


@in_shell
async def test_list_and_describe(shell: Shell) -> None:
    producer = await shell.init()
    await shell.init("other")
    await shell.add(producer, T1, T2)
    await shell.clock.elapse(1_000)

    async def listed(**filters: Any) -> list[str]:
        response = await shell.transactions.list(ListTransactionsRequest(**filters))
        return sorted(each.transactional_id for each in response.transaction_states)

    assert await listed() == ["other", "x"]
    assert await listed(state_filters=("Ongoing",)) == ["x"]
    assert await listed(state_filters=("Ongoing", "Empty")) == ["other", "x"]
    assert await listed(state_filters=("Nonsense",)) == []
    assert await listed(producer_id_filters=(1001,)) == ["other"]
    assert await listed(duration_filter=999) == ["other", "x"], "as with Kafka, what never began has run forever"
    assert await listed(duration_filter=1_000, state_filters=("Ongoing",)) == []
    assert ids_matching("oth.*", ["x", "other"]) == {"other"}
    assert ids_matching("oth", ["x", "other"]) == frozenset()
    with pytest.raises(InvalidRegularExpression):
        ids_matching("(", ["x"])
    unknown = await shell.transactions.list(ListTransactionsRequest(state_filters=("Nonsense", "Empty")))
    assert unknown.unknown_state_filters == ("Nonsense",)
    described = await shell.transactions.describe("x")
    assert (described.producer_id, described.producer_epoch, described.transaction_state) == (1000, 0, "Ongoing")
    assert [(topic.topic, topic.partitions) for topic in described.topics] == [("t", (1, 2))]
    with pytest.raises(TransactionalIdNotFound):
        await shell.transactions.describe("missing")


def stored(log: MemoryLog, upto: int) -> dict[str, Transaction]:
    transactions: dict[str, Transaction] = {}
    for key, value in log.partitions.get(0, [])[:upto]:
        record = decode_record(key, value)
        assert record is not None
        if record.value is not None:
            transactions[record.transactional_id] = record.value
    return transactions


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["init", "add", "commit", "abort", "settle"]), st.sampled_from("xy")), max_size=25
    )
)
def test_no_answer_runs_ahead_of_the_log(steps: list[tuple[str, str]]) -> None:
    """With every commit delayed: no answer is sent before its records are below the high watermark."""

    async def main() -> None:
        shell = Shell()
        await shell.transactions.load(0, 0)
        shell.log.hold = True
        committed = 0
        producers: dict[str, ProducerIdAndEpoch] = {}
        running: list[tuple[str, str, asyncio.Task[Any]]] = []

        async def settle() -> None:
            nonlocal committed
            while shell.log.held:
                committed = len(shell.log.partitions.get(0, []))
                shell.log.settle()
                await look()

        async def look() -> None:
            await shell.clock.elapse(0)
            for kind, id, task in [each for each in running if each[2].done()]:
                running.remove((kind, id, task))
                if task.exception() is not None:
                    assert isinstance(task.exception(), KafkaError)
                    continue
                durable = stored(shell.log, committed)[id]
                if kind == "init":
                    producers[id] = task.result()
                    assert durable.producer >= task.result()
                elif kind == "add":
                    assert durable.state.value != "Empty" or durable.producer > producers[id]
                else:
                    producers[id] = task.result()
                    assert durable.producer >= task.result()

        for kind, id in steps:
            if kind == "settle":
                await settle()
            elif kind == "init":
                running.append((kind, id, asyncio.create_task(shell.init(id))))
            elif id in producers:
                call = (
                    shell.add(producers[id], T0, id=id)
                    if kind == "add"
                    else shell.end(producers[id], commit=kind == "commit", id=id)
                )
                running.append((kind, id, asyncio.create_task(call)))
            await look()
        await settle()
        await shell.clock.elapse(1_000)
        await settle()
        assert running == []

    asyncio.run(main())
