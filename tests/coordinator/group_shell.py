"""The group coordinator's asyncio shell, with virtual time and a log in memory."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any

import pytest
from group_core import CLIENT, commit_request, join_request
from memory_log import MemoryLog

from barnabas.coordinator.group.classic.join import MemberIdAssigned
from barnabas.coordinator.group.common.settings import GroupSettings
from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.env import InlineWorkers
from barnabas.testing.clock import VirtualClock
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupResponse
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
            random_bytes=random.Random(0).randbytes,
            settings=self.settings,
            partition_count=self.partitions,
            workers=InlineWorkers(),
        )

    async def join(self, **fields: Any) -> JoinGroupResponse:
        return await self.groups.join(join_request(**fields), CLIENT, 9)

    async def start_join(self, **fields: Any) -> "asyncio.Task[JoinGroupResponse]":
        with pytest.raises(MemberIdAssigned) as handed_out:
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

    async def heartbeat(self, member: str, generation: int) -> None:
        answer = self.groups.heartbeat(HeartbeatRequest(group_id="g", member_id=member, generation_id=generation))
        if isinstance(answer, Awaitable):
            await answer

    async def commit(self, offset: int, **fields: Any) -> None:
        await self.commit_all({("t", 0): offset}, **fields)

    async def commit_all(self, offsets: dict[tuple[str, int], int], **fields: Any) -> None:
        answer = self.groups.offset_commit(commit_request(offsets, **fields), 9)
        if isinstance(answer, Awaitable):
            await answer

    async def fetch(self, group: str = "g") -> int | None:
        for topic in await self.groups.offset_fetch(OffsetFetchRequestGroup(group_id=group)):
            for _, found in topic.offsets:
                assert not isinstance(found, KafkaError)
                return None if found is None else found.offset
        return None


def on_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


async def loaded(settings: GroupSettings | None = None) -> Shell:
    shell = Shell(settings)
    await shell.groups.load(0)
    return shell
