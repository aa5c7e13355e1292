"""The asyncio shell, with virtual time and a log in memory."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any

import pytest
from group_core import CLIENT, SESSION_MS, commit_request, join_request
from memory_log import MemoryLog

from barnabas.coordinator import runtime
from barnabas.coordinator.group.coordinator import GroupCoordinator
from barnabas.coordinator.group.join import MemberIdHandedOut
from barnabas.coordinator.group.settings import GroupSettings
from barnabas.env import InlineWorkers
from barnabas.testing.clock import VirtualClock
from barnabas.wire.errors import (
    CoordinatorLoadInProgress,
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
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment


class Shell:
    def __init__(self, settings: GroupSettings | None = None, partitions: int = 1) -> None:
        self.log = MemoryLog()
        self.clock = VirtualClock()
        self.settings = settings or GroupSettings()
        self.partitions = partitions
        self.groups = self.coordinator()

    def coordinator(self) -> GroupCoordinator:
        return GroupCoordinator(
            log=self.log,
            clock=self.clock,
            random=random.Random(0),
            settings=self.settings,
            partition_count=self.partitions,
            workers=InlineWorkers(),
        )

    async def join(self, **fields: Any) -> JoinGroupResponse:
        return await self.groups.join(join_request(**fields), CLIENT, 9)

    async def start_join(self, **fields: Any) -> "asyncio.Task[JoinGroupResponse]":
        with pytest.raises(MemberIdHandedOut) as handed_out:
            await self.join(**fields)
        task = asyncio.create_task(self.join(member=handed_out.value.member_id, **fields))
        await self.clock.settle()
        return task

    async def sync(self, member: str, generation: int, assignments: dict[str, bytes]) -> bytes:
        request = SyncGroupRequest(
            group_id="g",
            member_id=member,
            generation_id=generation,
            assignments=tuple(
                SyncGroupRequestAssignment(member_id=each, assignment=data) for each, data in assignments.items()
            ),
        )
        return (await self.groups.sync(request)).assignment

    def heartbeat(self, member: str, generation: int) -> None:
        self.groups.heartbeat(HeartbeatRequest(group_id="g", member_id=member, generation_id=generation))

    async def commit(self, offset: int, **fields: Any) -> None:
        await self.groups.offset_commit(commit_request({("t", 0): offset}, **fields), 9)

    async def fetch(self, group: str = "g") -> int | None:
        response = await self.groups.offset_fetch(OffsetFetchRequestGroup(group_id=group))
        return response.topics[0].partitions[0].committed_offset if response.topics else None


def on_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


async def loaded(settings: GroupSettings | None = None) -> Shell:
    shell = Shell(settings)
    await shell.groups.load(0)
    return shell


@on_loop
async def test_a_group_forms_lives_and_falls_apart_by_the_clock() -> None:
    shell = await loaded()
    task = await shell.start_join()
    await shell.clock.elapse(3_000)
    joined = await task
    assert await shell.sync(joined.member_id, 1, {joined.member_id: b"mine"}) == b"mine"
    for _ in range(10):
        shell.clock.advance(SESSION_MS - 1)
        shell.heartbeat(joined.member_id, 1)
    shell.clock.advance(SESSION_MS)
    with pytest.raises(UnknownMemberId):
        shell.heartbeat(joined.member_id, 1)
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
        shell.heartbeat("m", 1)
    assert [each.error_code.name for each in await shell.groups.delete(["g", "h"])] == ["not_coordinator"] * 2
    assert list(await shell.groups.list()) == []


@on_loop
async def test_while_it_loads() -> None:
    shell = await loaded()
    await shell.commit(5)
    shell.groups = shell.coordinator()
    shell.log.reading = asyncio.Event()
    loading = asyncio.create_task(shell.groups.load(0))
    await shell.clock.settle()
    for call in (shell.join, shell.fetch, shell.groups.list):
        with pytest.raises(CoordinatorLoadInProgress):
            await call()
    shell.heartbeat("m", 1)
    shell.log.reading.set()
    await loading
    assert await shell.fetch() == 5


@on_loop
async def test_before_its_turn_to_load_has_come() -> None:
    shell = Shell()
    shell.groups.expect(0)
    with pytest.raises(CoordinatorLoadInProgress):
        await shell.fetch()
    await shell.groups.load(0)
    await shell.commit(5)
    shell.groups.expect(0)
    assert await shell.fetch() == 5, "what is served goes on being served"


@on_loop
async def test_unloaded_while_it_loads() -> None:
    shell = await loaded()
    await shell.commit(5)
    shell.groups.unload(0)
    shell.log.reading = asyncio.Event()
    loading = asyncio.create_task(shell.groups.load(0))
    await shell.clock.settle()
    shell.groups.unload(0)
    shell.log.reading.set()
    await loading
    with pytest.raises(NotCoordinator):
        await shell.fetch()


@on_loop
async def test_a_log_that_cannot_be_read_is_not_served() -> None:
    shell = Shell()
    shell.log.partitions[0] = [runtime.KeyValue(b"\0\2\0\1g", b"\0\x63")]
    with pytest.raises(KafkaError):
        await shell.groups.load(0)
    with pytest.raises(NotCoordinator):
        await shell.fetch()


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
    ("failure", "told"),
    [
        (NotLeaderOrFollower(), NotCoordinator),
        (KafkaStorageError(), CoordinatorNotAvailable),
        (NotEnoughReplicas(), CoordinatorNotAvailable),
        (RecordListTooLarge(), KafkaError),
        (UnknownMemberId(), UnknownMemberId),
    ],
)
@on_loop
async def test_failed_appends_are_told_in_terms_of_coordinators(failure: KafkaError, told: type[KafkaError]) -> None:
    shell = await loaded()
    shell.log.refuse = failure
    with pytest.raises(told) as raised:
        await shell.commit(1)
    assert type(raised.value) is told
    with pytest.raises(told):
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
    assert {each.group_id for each in results if not each.error_code} == set(names)
    assert list(await shell.groups.list()) == []
    await shell.groups.on_topics_deleted(["t"])


@on_loop
async def test_many_tombstones_are_written_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "BATCH_BYTES_MAX", 200)
    shell = await loaded()
    offsets = {("t", partition): 1 for partition in range(100)}
    await shell.groups.offset_commit(commit_request(offsets), 9)
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
