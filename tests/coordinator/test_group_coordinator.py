"""The asyncio shell, with virtual time and a log in memory."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from group_core import SESSION_MS
from group_shell import Shell, loaded, on_loop

from barnabas.coordinator import runtime
from barnabas.wire.errors import (
    CoordinatorNotAvailable,
    InvalidGroupId,
    KafkaError,
    KafkaStorageError,
    NotCoordinator,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    RecordListTooLarge,
    UnknownMemberId,
)
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest
from barnabas.wire.messages.sync_group import SyncGroupRequest


@on_loop
async def test_a_group_forms_lives_and_falls_apart_by_the_clock() -> None:
    shell = await loaded()
    task = await shell.start_join()
    await shell.clock.elapse(3_000)
    joined = await task
    assert await shell.sync(joined.member_id, 1, {joined.member_id: b"mine"}) == b"mine"
    for _ in range(10):
        shell.clock.advance(SESSION_MS - 1)
        await shell.heartbeat(joined.member_id, 1)
    shell.clock.advance(SESSION_MS)
    with pytest.raises(UnknownMemberId):
        await shell.heartbeat(joined.member_id, 1)
    assert (await shell.groups.describe("g")).group_state == "Empty"


@on_loop
async def test_partitions_that_are_not_ours() -> None:
    shell = Shell()
    calls: list[Callable[[], Awaitable[object]]] = [
        shell.join,
        lambda: shell.commit(1),
        shell.fetch,
        lambda: shell.sync("m", 1, {}),
        lambda: shell.groups.describe("g"),
    ]
    for call in calls:
        with pytest.raises(NotCoordinator):
            await call()
    with pytest.raises(NotCoordinator):
        await shell.heartbeat("m", 1)
    assert [type(error) for error in (await shell.groups.delete(["g", "h"])).values()] == [NotCoordinator] * 2
    assert list(await shell.groups.list()) == []


@on_loop
async def test_records_of_other_kinds_are_skipped() -> None:
    shell = Shell()
    shell.log.partitions[0] = [runtime.KeyValue(b"\0\x11\0\1g", b"\0\0")]
    await shell.groups.load(0)
    assert list(await shell.groups.list()) == []


@on_loop
async def test_unloading_answers_everybody() -> None:
    shell = await loaded()
    task = await shell.start_join()
    shell.groups.unload(0)
    with pytest.raises(NotCoordinator):
        await task
    assert shell.clock.next_due_ms() is None


@on_loop
async def test_a_commit_is_answered_when_it_is_committed_and_reads_wait_too() -> None:
    shell = await loaded()
    await shell.commit(1)
    shell.log.hold = True
    writing = asyncio.create_task(shell.commit(2))
    await shell.clock.settle()
    reading = asyncio.create_task(shell.fetch())
    await shell.clock.settle()
    assert not writing.done()
    assert not reading.done()
    shell.log.settle()
    await writing
    assert await reading == 2


@on_loop
async def test_what_is_never_committed_is_not_answered_as_if_it_were() -> None:
    shell = await loaded()
    shell.log.hold = True
    writing = asyncio.create_task(shell.commit(2))
    await shell.clock.settle()
    reading = asyncio.create_task(shell.fetch())
    await shell.clock.settle()
    shell.log.settle(NotLeaderOrFollower())
    for task in (writing, reading):
        with pytest.raises(NotCoordinator):
            await task


@on_loop
async def test_a_write_that_takes_too_long_is_answered() -> None:
    shell = await loaded()
    shell.log.hold = True
    writing = asyncio.create_task(shell.commit(2))
    await shell.clock.elapse(5_000)
    with pytest.raises(CoordinatorNotAvailable):
        await writing
    shell.log.settle()
    await shell.clock.settle()
    assert await shell.fetch() == 2


@on_loop
async def test_unloading_fails_writes_under_way() -> None:
    shell = await loaded()
    shell.log.hold = True
    writing = asyncio.create_task(shell.commit(2))
    await shell.clock.settle()
    shell.groups.unload(0)
    shell.log.settle()
    with pytest.raises(NotCoordinator):
        await writing


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (NotLeaderOrFollower(), NotCoordinator),
        (KafkaStorageError(), CoordinatorNotAvailable),
        (NotEnoughReplicas(), CoordinatorNotAvailable),
        (RecordListTooLarge(), KafkaError),
        (UnknownMemberId(), UnknownMemberId),
    ],
)
@on_loop
async def test_failed_appends_are_told_in_terms_of_coordinators(
    failure: KafkaError, expected: type[KafkaError]
) -> None:
    shell = await loaded()
    shell.log.refuse = failure
    with pytest.raises(expected) as raised:
        await shell.commit(1)
    assert type(raised.value) is expected
    with pytest.raises(expected):
        await shell.join()
    shell.log.refuse = None
    assert await shell.fetch() is None
    await shell.commit(1)
    assert await shell.fetch() == 1


@on_loop
async def test_a_parked_request_whose_append_fails_is_answered() -> None:
    shell = await loaded()
    shell.log.refuse = NotLeaderOrFollower()
    with pytest.raises(NotCoordinator):
        await shell.join(instance="i")
    shell.log.refuse = None
    task = await shell.start_join()
    await shell.clock.elapse(3_000)
    joined = await task
    shell.log.hold = True
    syncing = asyncio.create_task(shell.sync(joined.member_id, 1, {}))
    await shell.clock.settle()
    shell.log.settle(ValueError("a bug"))
    with pytest.raises(KafkaError):
        await syncing
    assert (await shell.groups.describe("g")).group_state == "PreparingRebalance"


@on_loop
async def test_a_client_that_goes_away_takes_nothing_with_it() -> None:
    shell = await loaded()
    first, second = await shell.start_join(), await shell.start_join()
    first.cancel()
    await shell.clock.elapse(6_000)
    joined = await second
    assert joined.generation_id == 1
    shell.log.hold = True
    writing = asyncio.create_task(shell.commit(9, group="other"))
    await shell.clock.settle()
    writing.cancel()
    await shell.clock.settle()
    shell.log.settle()
    await shell.clock.settle()
    assert await shell.fetch("other") == 9


@on_loop
async def test_requests_need_a_group() -> None:
    shell = await loaded()
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: shell.join(group=""),
        lambda: shell.groups.sync(SyncGroupRequest()),
        lambda: shell.groups.leave(LeaveGroupRequest(members=(MemberIdentity(member_id="m"),))),
        lambda: shell.groups.offset_delete(OffsetDeleteRequest()),
    ]
    for call in calls:
        with pytest.raises(InvalidGroupId):
            await call()
    with pytest.raises(InvalidGroupId):
        shell.groups.heartbeat(HeartbeatRequest())
    await shell.commit(4, group="")
    assert await shell.fetch("") == 4, "offsets may be kept under no name, as in Kafka"


@on_loop
async def test_groups_of_all_partitions_are_listed_and_deleted() -> None:
    shell = Shell(partitions=4)
    for partition in range(4):
        await shell.groups.load(partition)
    names = [f"g{number}" for number in range(20)]
    for name in names:
        await shell.commit(1, group=name)
    assert {each.group_id for each in await shell.groups.list()} == set(names)
    assert len(shell.log.partitions) == 4
    results = await shell.groups.delete([*names, "other"])
    assert {group_id for group_id, error in results.items() if error is None} == set(names)
    assert list(await shell.groups.list()) == []
    await shell.groups.on_topics_deleted(["t"])


@on_loop
async def test_many_tombstones_are_written_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "BATCH_BYTES_MAX", 200)
    shell = await loaded()
    offsets = {("t", partition): 1 for partition in range(100)}
    await shell.commit_all(offsets)
    shell.log.batches.clear()
    shell.log.hold = True
    deleting = asyncio.create_task(shell.groups.on_topics_deleted(["t"]))
    await shell.clock.settle()
    shell.log.settle()
    await deleting
    assert len(shell.log.batches) > 5
    assert sum(shell.log.batches) == 100
    assert await shell.fetch() is None


@on_loop
async def test_offsets_expire_by_themselves() -> None:
    shell = await loaded()
    await shell.commit(1)
    await shell.clock.elapse(7 * 24 * 60 * 60_000 + shell.settings.offsets_retention_check_interval_ms)
    assert list(await shell.groups.list()) == []


@on_loop
async def test_a_clock_set_forward_expires_nobody() -> None:
    shell = await loaded()
    task = await shell.start_join()
    shell.clock.set_wall_ms(shell.clock.now_ms() + 365 * 24 * 60 * 60_000)
    await shell.clock.elapse(3_000)
    assert (await task).generation_id == 1
