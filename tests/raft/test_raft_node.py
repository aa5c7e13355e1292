"""The shell over many restarts: acknowledged records stay, in order, and no epoch is used twice."""

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quorum import DIRECTORY, Quorum

from barnabas.env import ThreadWorkers
from barnabas.raft.core.election_state import ElectionState
from barnabas.raft.core.voters import ReplicaKey
from barnabas.raft.node import BATCH_BYTES_MAX
from barnabas.testing.disk import Fault, PowerCut
from barnabas.wire.errors import CorruptMessage, KafkaStorageError, NotController, RecordListTooLarge
from property_effort import examples

T = TypeVar("T")


def test_a_first_start_and_a_second() -> None:
    async def scenario() -> None:
        quorum = Quorum()
        node, history, log = quorum.boot()
        await node.start()
        assert (node.epoch, node.leader_id, node.high_watermark) == (1, 1, 3)
        assert history.started_from == (0, 0)
        assert quorum.files.read_election() == ElectionState(1, leader_id=1)
        assert await node.append([b"a", b"b"]) == 4
        assert await node.append([b"c"]) == 5
        assert history.commits == [(3, 1, [b"a", b"b"]), (5, 1, [b"c"])]
        await node.close()
        with pytest.raises(NotController):
            node.append([b"late"])

        node, again, log = quorum.boot()
        await node.start()
        assert (node.epoch, node.high_watermark) == (2, 7)
        assert again.commits == history.commits
        assert [batch.header.leader_epoch for batch in log.batches] == [1, 1, 1, 2]
        assert [batch.header.is_control for batch in log.batches] == [True, False, False, True]
        await node.close()

    asyncio.run(scenario())


def test_appends_share_a_sync_and_keep_their_order() -> None:
    async def scenario() -> None:
        workers = ThreadWorkers(1)
        quorum = Quorum(workers=workers)
        node, history, log = quorum.boot()
        await node.start()
        syncs = log.syncs
        offsets = await asyncio.gather(*(node.append([b"%d" % number]) for number in range(100)))
        assert offsets == list(range(3, 103))
        assert history.records == [b"%d" % number for number in range(100)]
        assert log.syncs - syncs <= 2
        await node.close()
        workers.close()

    asyncio.run(scenario())


def test_close_waits_for_what_was_taken() -> None:
    async def scenario() -> None:
        workers = ThreadWorkers(1)
        node, history, _ = Quorum(workers=workers).boot()
        await node.start()
        committed = node.append([b"a"])
        await node.close()
        assert await committed == 3
        assert history.records == [b"a"]
        workers.close()

    asyncio.run(scenario())


def test_a_caller_that_gave_up_does_not_disturb_the_others() -> None:
    async def scenario() -> None:
        node, history, _ = Quorum().boot()
        await node.start()
        first = asyncio.ensure_future(node.append([b"a"]))
        second = node.append([b"b"])
        first.cancel()
        assert await second == 4
        assert history.records == [b"a", b"b"]
        await node.close()

    asyncio.run(scenario())


def test_a_snapshot_replaces_the_log_below_it() -> None:
    async def scenario() -> None:
        quorum = Quorum()
        node, history, log = quorum.boot()
        await node.start()
        await node.append([b"a", b"b"])
        assert await node.snapshot() == (5, 1)
        assert quorum.files.snapshot_ids() == [(5, 1)]
        assert log.start_offset == 5
        await node.append([b"c"])
        await node.close()

        node, history, _ = quorum.boot()
        await node.start()
        assert history.started_from == (5, 1)
        assert history.commits == [(5, 1, [b"c"])]
        assert history.records == [b"a", b"b", b"c"]
        assert node.voters.ids == (1,)
        await node.close()

    asyncio.run(scenario())


def test_a_snapshot_that_reaches_further_than_the_log() -> None:
    async def scenario() -> None:
        quorum = Quorum()
        node, _, _ = quorum.boot()
        await node.start()
        await node.append([b"a"])
        await node.snapshot()
        await node.close()
        quorum.disk.remove(f"{DIRECTORY}/log")
        node, history, log = quorum.boot()
        await node.start()
        assert history.records == [b"a"]
        assert (log.start_offset, log.end_offset) == (4, 5)
        assert node.epoch == 2
        await node.close()

    asyncio.run(scenario())


def test_snapshots_come_by_themselves_when_the_listener_is_ready() -> None:
    async def scenario() -> None:
        quorum = Quorum(snapshot_interval_bytes=1000)
        node, history, _ = quorum.boot()
        await node.start()
        history.ready = False
        await node.append([bytes(1000)])
        await node.append([b"still not"])
        assert await node.snapshot() is None
        assert quorum.files.snapshot_ids() == [(0, 0)]
        history.ready = True
        await node.append([b"now"])
        await node.close()
        assert quorum.files.snapshot_ids() == [(6, 1)]

    asyncio.run(scenario())


def test_a_failed_sync_ends_the_node() -> None:
    async def scenario() -> None:
        quorum = Quorum()
        node, history, _ = quorum.boot()
        await node.start()
        quorum.disk.inject(Fault("sync", "*/log"))
        with pytest.raises(KafkaStorageError, match="failed"):
            await node.append([b"a"])
        with pytest.raises(KafkaStorageError):
            node.append([b"b"])
        assert len(history.failures) == 1
        assert history.records == []
        await node.close()

    asyncio.run(scenario())


def test_a_failed_snapshot_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        quorum = Quorum(snapshot_interval_bytes=1)
        quorum.disk.inject(Fault("write", "*.checkpoint*"))
        node, history, _ = quorum.boot()
        await node.start()
        await node.append([b"a"])
        await node.append([b"b"])
        await node.close()
        node, history, _ = quorum.boot()
        await node.start()
        assert history.records == [b"a", b"b"]
        await node.close()

    asyncio.run(scenario())
    assert "the log is kept" in caplog.text


def test_what_cannot_be_started_says_why() -> None:
    async def scenario() -> None:
        quorum = Quorum()
        with pytest.raises(FileExistsError):
            quorum.format()
        node, _, _ = quorum.boot(local=ReplicaKey(1, uuid.UUID(int=3)))
        with pytest.raises(KafkaStorageError, match="not one of them"):
            await node.start()
        quorum.disk.replace_file(f"{DIRECTORY}/quorum-state", b"{}")
        node, _, _ = quorum.boot()
        with pytest.raises(CorruptMessage, match="quorum-state"):
            await node.start()
        quorum.disk.remove(f"{DIRECTORY}/00000000000000000000-0000000000.checkpoint")
        assert not quorum.files.is_formatted
        node, _, _ = quorum.boot()
        with pytest.raises(KafkaStorageError, match="format"):
            await node.start()
        with pytest.raises(NotController):
            node.append([b"a"])

    asyncio.run(scenario())


def test_a_batch_is_bounded() -> None:
    async def scenario() -> None:
        node, _, _ = Quorum().boot()
        await node.start()
        with pytest.raises(RecordListTooLarge):
            node.append([bytes(BATCH_BYTES_MAX), b"x"])
        await node.close()

    asyncio.run(scenario())


LIVES = st.lists(
    st.tuples(
        st.lists(st.integers(1, 3), max_size=6),  # the sizes of the appends
        st.booleans(),  # a snapshot at the end
        st.none() | st.integers(1, 60),  # the change of the disk at which the power goes
        st.integers(0, 2**32),  # the seed of what the disk keeps then
    ),
    max_size=6,
)


@settings(max_examples=examples(75), deadline=None)
@given(LIVES)
def test_lives_and_power_cuts(lives: list[tuple[list[int], bool, int | None, int]]) -> None:
    quorum = Quorum()
    acknowledged: list[bytes] = []  # in order
    attempted: list[bytes] = []
    number = 0

    async def live(sizes: list[int], snapshot: bool) -> None:
        nonlocal number
        node, history, _ = quorum.boot()
        await node.start()
        check(history.records)
        for size in sizes:
            records = [b"%d" % (number + index) for index in range(size)]
            number += size
            attempted.extend(records)
            await or_power_cut(node.append(records), lambda: not history.failures)
            acknowledged[:] = history.records
        if snapshot:
            await node.snapshot()
        await node.close()

    def check(seen: list[bytes]) -> None:
        assert seen[: len(acknowledged)] == acknowledged
        # Later records were never acknowledged: they may be there or not, but in order and unchanged.
        rest = iter(attempted)
        assert all(record in rest for record in seen)
        acknowledged[:] = seen

    for sizes, snapshot, power_cut, seed in lives:
        if power_cut is not None:
            quorum.disk.power_cut_at = quorum.disk.operations + power_cut
        with contextlib.suppress(PowerCut):
            asyncio.run(live(sizes, snapshot))
        quorum.power_cut(seed)
    asyncio.run(live([1], False))
    assert quorum.epochs_begun == sorted(set(quorum.epochs_begun))


async def or_power_cut(awaitable: Awaitable[T], alive: Callable[[], bool]) -> T:
    """The power cut may happen inside a task of the node, whose error only the event loop would see."""
    waiting = asyncio.ensure_future(awaitable)
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.wait({waiting, *others}, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        if task.done() and not task.cancelled() and isinstance(task.exception(), PowerCut):
            task.result()
    assert alive()
    return await waiting


def test_a_snapshot_that_a_crash_cut_short_is_removed_at_the_next_start() -> None:
    async def scenario() -> None:
        quorum = Quorum()
        node, _, _ = quorum.boot()
        await node.start()
        await node.append([b"a"])
        quorum.disk.inject(Fault("sync", "*.checkpoint.tmp"))
        with pytest.raises(OSError, match="Input/output error"):
            await node.snapshot()
        await node.close()
        assert [name for name in quorum.disk.list_dir(DIRECTORY) if name.endswith(".tmp")]
        node, _, _ = quorum.boot()
        await node.start()
        assert not [name for name in quorum.disk.list_dir(DIRECTORY) if name.endswith(".tmp")]
        await node.close()

    asyncio.run(scenario())
