"""Requests that come while a partition is loading: they wait, keep their order, and are answered in time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from group_core import CLIENT
from group_shell import Shell, loaded, on_loop

from barnabas.coordinator import runtime
from barnabas.coordinator.held_requests import HOLD_MS_MAX
from barnabas.wire.errors import (
    CoordinatorLoadInProgress,
    GroupIdNotFound,
    KafkaError,
    NotCoordinator,
    UnknownMemberId,
)
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.leave_group import LeaveGroupRequest
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest


class LoadingShell(Shell):
    """Its partition has offset 5 in its log, and is loading until `finish`."""

    async def begin(self) -> None:
        await self.groups.load(0)
        await self.commit(5)
        self.groups = self.coordinator()
        self.log.reading = self._go_on = asyncio.Event()
        self._loading = asyncio.create_task(self.groups.load(0))
        await self.clock.settle()

    async def finish(self) -> None:
        self._go_on.set()
        await self._loading


async def loading() -> LoadingShell:
    shell = LoadingShell()
    await shell.begin()
    return shell


async def outcomes(tasks: list["asyncio.Task[Any]"]) -> list[Any]:
    return await asyncio.gather(*tasks, return_exceptions=True)


async def join_modern(shell: Shell) -> object:
    request = ConsumerGroupHeartbeatRequest(
        group_id="modern", member_id="m", subscribed_topic_names=("t",), topic_partitions=()
    )
    answer = shell.groups.consumer_heartbeat(request, CLIENT)
    return await answer if isinstance(answer, runtime.Pending) else answer


REQUESTS: list[Callable[[Shell], Coroutine[Any, Any, object]]] = [
    lambda shell: shell.join(member="m"),
    lambda shell: shell.sync("m", 1, {}),
    lambda shell: shell.heartbeat("m", 1),
    lambda shell: shell.groups.leave(LeaveGroupRequest(group_id="g")),
    lambda shell: shell.fetch(),
    lambda shell: shell.commit(6),
    lambda shell: shell.groups.offset_delete(OffsetDeleteRequest(group_id="g")),
    lambda shell: shell.groups.describe("g"),
    lambda shell: shell.groups.describe_consumer_group("g"),
    lambda shell: shell.groups.list(),
    lambda shell: shell.groups.delete(["h"]),
    join_modern,
]


@on_loop
async def test_every_request_waits_until_the_log_is_read() -> None:
    shell = await loading()
    held = [asyncio.create_task(request(shell)) for request in REQUESTS]
    await shell.clock.elapse(HOLD_MS_MAX - 1)
    assert not any(task.done() for task in held)
    await shell.finish()
    answers = await outcomes(held)
    expected = (UnknownMemberId, GroupIdNotFound)
    assert [answer for answer in answers if isinstance(answer, Exception) and not isinstance(answer, expected)] == []


@on_loop
async def test_before_its_turn_to_load_has_come_they_wait_too() -> None:
    shell = Shell()
    shell.groups.expect(0)
    reading = asyncio.create_task(shell.fetch())
    await shell.clock.settle()
    assert shell.groups.has_held_requests(0)
    await shell.groups.load(0)
    assert await reading is None
    assert not shell.groups.has_held_requests(0)
    await shell.commit(5)
    shell.groups.expect(0)
    assert await shell.fetch() == 5, "what is served goes on being served"


@on_loop
async def test_their_order_stays() -> None:
    shell = await loading()
    held: list[asyncio.Task[Any]] = []
    for offset in range(10, 20):
        held.append(asyncio.create_task(shell.commit(offset)))
        held.append(asyncio.create_task(shell.fetch()))
    await shell.clock.settle()
    await shell.finish()
    await shell.commit(99)  # sent as soon as the partition is loaded, and must not overtake the others
    assert [answer for answer in await outcomes(held) if answer is not None] == list(range(10, 20))
    assert await shell.fetch() == 99


@on_loop
async def test_who_waits_too_long_is_told_to_try_again_and_nothing_is_done_afterwards() -> None:
    shell = await loading()
    held: list[asyncio.Task[Any]] = [asyncio.create_task(request) for request in (shell.join(), shell.commit(6))]
    heartbeat = asyncio.create_task(shell.heartbeat("m", 1))
    listing = asyncio.create_task(shell.groups.list())
    await shell.clock.elapse(HOLD_MS_MAX)
    assert [type(error) for error in await outcomes([*held, listing])] == [CoordinatorLoadInProgress] * 3
    await heartbeat  # as in Kafka: a member counts as alive while the coordinator loads
    await shell.finish()
    assert await shell.fetch() == 5
    assert (await shell.groups.describe("g")).members == ()


@on_loop
async def test_a_client_that_has_gone_away_wants_nothing_any_more() -> None:
    shell = await loading()
    held = asyncio.create_task(shell.commit(6))
    await shell.clock.settle()
    held.cancel()
    await shell.finish()
    assert await shell.fetch() == 5


@on_loop
async def test_a_partition_that_moves_away_while_it_loads() -> None:
    shell = await loading()
    held = asyncio.create_task(shell.fetch())
    await shell.clock.settle()
    shell.groups.unload(0)
    with pytest.raises(NotCoordinator):
        await held
    await shell.finish()
    with pytest.raises(NotCoordinator):
        await shell.fetch()


@on_loop
async def test_a_partition_that_is_loaded_anew_while_it_loads_keeps_its_requests() -> None:
    shell = await loading()
    held = asyncio.create_task(shell.fetch())
    await shell.clock.settle()
    again = asyncio.create_task(shell.groups.load(0, leader_epoch=1))
    await shell.finish()
    await again
    assert await held == 5


@on_loop
async def test_a_log_that_cannot_be_read_is_not_served() -> None:
    shell = Shell()
    shell.log.partitions[0] = [runtime.KeyValue(b"\0\2\0\1g", b"\0\x63")]
    shell.groups.expect(0)
    held = asyncio.create_task(shell.fetch())
    await shell.clock.settle()
    with pytest.raises(KafkaError):
        await shell.groups.load(0)
    for asking in (held, shell.fetch()):
        with pytest.raises(NotCoordinator):
            await asking


@on_loop
async def test_the_brokers_own_work_does_not_wait_for_a_partition_that_loads() -> None:
    shell = await loading()
    await shell.groups.on_topics_deleted({"t"})
    await shell.finish()
    assert await shell.fetch() == 5
    done = await loaded()
    await done.commit(5)
    await done.groups.on_topics_deleted({"t"})
    assert await done.fetch() is None
