"""Days in the life of a broker, in milliseconds: a whole node on a virtual clock and a disk in memory.

Real sockets, real requests; only time and the disk are simulated. Nothing moves the clock but the test.
"""

import asyncio
import datetime
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any, TypeVar

from plain_requests import EARLIEST, LATEST, commit_offset, committed_offset, find_coordinator, list_offset, produce

from barnabas.env import InlineWorkers
from barnabas.node.broker_node import BrokerNode
from barnabas.testing.client import Client, create_topic
from barnabas.testing.clock import VirtualClock
from barnabas.testing.disk import SimulatedDisk
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.sync_group import SyncGroupRequest

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
DATA = "/data"

T = TypeVar("T")


class World:
    """A broker, its time and its disk."""

    def __init__(self, node: BrokerNode, clock: VirtualClock, disk: SimulatedDisk, client: Client) -> None:
        self.node = node
        self.clock = clock
        self.disk = disk
        self.client = client

    async def ask(self, request: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Call the blocking client in a thread, while the broker's event loop runs."""
        answer = asyncio.ensure_future(asyncio.to_thread(request, self.client, *arguments, **options))
        while not answer.done():
            await self.clock.elapse(0)
        return answer.result()

    async def produce(self, topic: str, value: bytes = b"x") -> int:
        answer = await self.ask(produce, topic, [value], timestamp=self.clock.now_ms())
        assert answer.error_code == ErrorCode.none
        return answer.base_offset

    def files(self, partition: str, suffix: str) -> list[str]:
        return [name for name in self.disk.list_dir(f"{DATA}/{partition}") if name.endswith(suffix)]


def live(scenario: Callable[[World], Awaitable[None]], properties: Mapping[str, str] | None = None) -> None:
    async def run() -> None:
        clock = VirtualClock()
        disk = SimulatedDisk(now_ms=clock.now_ms)
        node = BrokerNode(
            {
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "log.dirs": DATA,
                "offsets.topic.num.partitions": "1",
                "group.initial.rebalance.delay.ms": "0",
                # Chores that come every few seconds make up most of a week.
                "log.cleaner.backoff.ms": str(DAY_MS),
                "log.flush.offset.checkpoint.interval.ms": str(DAY_MS),
                "log.segment.delete.delay.ms": str(HOUR_MS),
                **(properties or {}),
            },
            clock=clock,
            disk=disk,
            workers=InlineWorkers(),
            rng=Random(1),
        )
        await node.start()
        try:
            with await asyncio.to_thread(Client, "127.0.0.1", node.port) as client:
                await scenario(World(node, clock, disk, client))
        finally:
            await node.stop()

    asyncio.run(run())


def test_a_week_of_retention() -> None:
    async def scenario(world: World) -> None:
        await world.ask(create_topic, "t", config={"retention.ms": str(3 * DAY_MS), "segment.ms": str(DAY_MS)})
        starts = []
        for day in range(7):
            assert await world.produce("t") == day
            await world.clock.elapse(DAY_MS + 5 * MINUTE_MS)
            starts.append(await world.ask(list_offset, "t", EARLIEST))
        # A record is gone once its whole segment is three days old, and not before.
        assert starts == [0, 0, 1, 2, 3, 4, 5]
        assert await world.ask(list_offset, "t", LATEST) == 7
        await world.clock.elapse(30 * DAY_MS)
        assert await world.ask(list_offset, "t", EARLIEST) == 7
        assert await world.produce("t") == 7
        await world.clock.elapse(2 * HOUR_MS)
        assert len(world.files("t-0", ".log")) == 1
        assert not world.files("t-0", ".deleted")

    live(scenario)


def test_segments_roll_with_time_and_are_synced_when_they_do() -> None:
    async def scenario(world: World) -> None:
        await world.ask(create_topic, "t", config={"segment.ms": str(HOUR_MS), "retention.ms": "-1"})
        for hour in range(48):
            assert await world.produce("t") == hour
            await world.clock.elapse(HOUR_MS + 1)
        assert len(world.files("t-0", ".log")) == 48
        world.disk.crash()  # a power cut: what was not synced is lost, and that is the active segment at most
        assert len(world.files("t-0", ".log")) >= 47

    live(scenario)


def test_flush_ms_bounds_what_a_power_cut_may_take() -> None:
    async def scenario(world: World) -> None:
        await world.ask(create_topic, "t", config={"flush.ms": "1000"})
        path = f"{DATA}/t-0/{0:020}.log"
        await world.produce("t", b"synced")
        await world.clock.elapse(1_000)
        size = world.disk.size(path)
        await world.produce("t", b"not yet")
        world.disk.crash()
        assert world.disk.size(path) == size

    live(scenario)


def test_a_member_that_falls_silent_is_expelled_when_its_session_ends() -> None:
    async def scenario(world: World) -> None:
        await world.ask(find_coordinator, "g")
        member, generation = await _join(world, "g", session_ms=45_000)
        for _ in range(10):
            await world.clock.elapse(40_000)
            assert await _heartbeat(world, "g", member, generation) == ErrorCode.none
        await world.clock.elapse(44_999)
        assert await _group_state(world, "g") == ("Stable", 1)
        await world.clock.elapse(1)
        assert await _group_state(world, "g") == ("Empty", 0)
        assert await _heartbeat(world, "g", member, generation) == ErrorCode.unknown_member_id

    live(scenario)


def test_offsets_expire_a_week_after_the_group_fell_empty() -> None:
    async def scenario(world: World) -> None:
        await world.ask(create_topic, "t")
        assert await world.ask(commit_offset, "idle", "t", 5) == ErrorCode.none
        assert await world.ask(commit_offset, "busy", "t", 6) == ErrorCode.none
        await world.clock.elapse(6 * DAY_MS)
        assert await world.ask(committed_offset, "idle", "t") == 5
        assert await world.ask(commit_offset, "busy", "t", 7) == ErrorCode.none
        await world.clock.elapse(DAY_MS + HOUR_MS)
        assert await world.ask(committed_offset, "idle", "t") == -1
        assert await world.ask(committed_offset, "busy", "t") == 7
        await world.clock.elapse(6 * DAY_MS)
        assert await world.ask(committed_offset, "busy", "t") == -1

    live(scenario, {"offsets.retention.minutes": str(7 * 24 * 60)})


def test_a_deleted_topic_leaves_the_disk_an_hour_later() -> None:
    async def scenario(world: World) -> None:
        await world.ask(create_topic, "t")
        await world.produce("t")
        await world.ask(_delete_topic, "t")
        assert [name for name in world.disk.list_dir(DATA) if name.endswith("-delete")]
        await world.clock.elapse(HOUR_MS - 1)
        assert [name for name in world.disk.list_dir(DATA) if name.endswith("-delete")]
        await world.clock.elapse(HOUR_MS + 1)
        assert not [name for name in world.disk.list_dir(DATA) if name.startswith("t-0")]

    live(scenario)


def _delete_topic(client: Client, name: str) -> None:
    from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

    (result,) = client.call("delete_topics", 6, DeleteTopicsRequest(topics=(DeleteTopicState(name=name),))).responses
    assert result.error_code == ErrorCode.none


async def _join(world: World, group: str, *, session_ms: int) -> tuple[str, int]:
    request = JoinGroupRequest(
        group_id=group,
        session_timeout=datetime.timedelta(milliseconds=session_ms),
        rebalance_timeout=datetime.timedelta(minutes=5),
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
    )
    answer = await world.ask(lambda client: client.call("join_group", 9, request))
    assert answer.error_code == ErrorCode.member_id_required
    request = request.replace(member_id=answer.member_id)
    answer = await world.ask(lambda client: client.call("join_group", 9, request))
    assert answer.error_code == ErrorCode.none
    sync = SyncGroupRequest(group_id=group, generation_id=answer.generation_id, member_id=answer.member_id)
    synced = await world.ask(lambda client: client.call("sync_group", 3, sync))
    assert synced.error_code == ErrorCode.none
    return answer.member_id, answer.generation_id


async def _heartbeat(world: World, group: str, member: str, generation: int) -> ErrorCode:
    request = HeartbeatRequest(group_id=group, generation_id=generation, member_id=member)
    return (await world.ask(lambda client: client.call("heartbeat", 4, request))).error_code


async def _group_state(world: World, group: str) -> tuple[str, int]:
    answer = await world.ask(lambda client: client.call("describe_groups", 5, DescribeGroupsRequest(groups=(group,))))
    return answer.groups[0].group_state, len(answer.groups[0].members)
