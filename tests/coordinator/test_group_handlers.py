"""Every version of every group API, through bytes."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest
from group_core import join_request, subscription
from group_wire import TOPIC_ID, Wire

from barnabas.wire.api_table import APIS
from barnabas.wire.errors import InvalidReplicationFactor, NotLeaderOrFollower
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment


def versions(api_name: str) -> list[int]:
    [api] = [each for each in APIS if each.name == api_name]
    return list(range(api.version_min, api.version_max + 1))


def on_wire(test: Callable[[Wire], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    async def main() -> None:
        wire = Wire()
        await wire.groups.load(0)
        await test(wire)

    return lambda: asyncio.run(main())


async def member(wire: Wire, version: int = 9) -> str:
    """The one member of group g, which is stable in generation 1."""
    member_id = ""
    if version >= 4:
        refused = await wire.send("join_group", version, join_request())
        assert refused.error_code.name == "member_id_required"
        member_id = refused.member_id
    task = await wire.start("join_group", version, join_request(member=member_id))
    await wire.clock.elapse(0)
    joined = await task
    assert joined.error_code.name == "none"
    assert joined.protocol_name == "range"
    assert joined.generation_id == 1
    assert [each.metadata for each in joined.members] == [subscription("t")]
    sync = SyncGroupRequest(
        group_id="g",
        member_id=joined.member_id,
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        assignments=(SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"mine"),),
    )
    assert (await wire.send("sync_group", 5, sync)).assignment == b"mine"
    return str(joined.member_id)


@pytest.mark.parametrize("version", versions("join_group"))
def test_join(version: int) -> None:
    @on_wire
    async def run(wire: Wire) -> None:
        await member(wire, version)
        wire.groups.unload(0)
        unknown = await wire.send("join_group", version, join_request())
        assert unknown.error_code.name == "not_coordinator"

    run()


@pytest.mark.parametrize("version", versions("sync_group"))
def test_sync(version: int) -> None:
    @on_wire
    async def run(wire: Wire) -> None:
        member_id = await member(wire)
        request = SyncGroupRequest(
            group_id="g", member_id=member_id, generation_id=1, protocol_type="consumer", protocol_name="range"
        )
        assert (await wire.send("sync_group", version, request)).assignment == b"mine"
        request = SyncGroupRequest(group_id="g", member_id=member_id, generation_id=7)
        expected = "inconsistent_group_protocol" if version >= 5 else "illegal_generation"
        assert (await wire.send("sync_group", version, request)).error_code.name == expected

    run()


@pytest.mark.parametrize("version", versions("heartbeat"))
def test_heartbeat(version: int) -> None:
    @on_wire
    async def run(wire: Wire) -> None:
        member_id = await member(wire)
        for generation, error in [(1, "none"), (2, "illegal_generation")]:
            request = HeartbeatRequest(group_id="g", member_id=member_id, generation_id=generation)
            assert (await wire.send("heartbeat", version, request)).error_code.name == error

    run()


@pytest.mark.parametrize("version", versions("leave_group"))
def test_leave(version: int) -> None:
    @on_wire
    async def run(wire: Wire) -> None:
        member_id = await member(wire)
        for error in ("none", "unknown_member_id"):
            request = LeaveGroupRequest(
                group_id="g", member_id=member_id, members=(MemberIdentity(member_id=member_id),)
            )
            response = await wire.send("leave_group", version, request)
            code = response.error_code if version < 3 else response.members[0].error_code
            assert code.name == error
        empty = await wire.send("leave_group", version, LeaveGroupRequest(member_id="m"))
        assert empty.error_code.name == "invalid_group_id"

    run()


def commit_of(offset: int, *partitions: int, topic: str = "t", topic_id: Any = TOPIC_ID) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id="g",
        topics=(
            OffsetCommitRequestTopic(
                name=topic,
                topic_id=topic_id,
                partitions=tuple(
                    OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=offset, committed_leader_epoch=4, committed_metadata="x"
                    )
                    for index in partitions
                ),
            ),
        ),
    )


def codes(response: Any) -> list[str]:
    return [each.error_code.name for topic in response.topics for each in topic.partitions]


@pytest.mark.parametrize("version", versions("offset_commit"))
def test_offset_commit(version: int) -> None:
    @on_wire
    async def run(wire: Wire) -> None:
        response = await wire.send("offset_commit", version, commit_of(5, 0, 9, 2))
        assert codes(response) == ["none", "unknown_topic_or_partition", "none"]
        assert [each.partition_index for each in response.topics[0].partitions] == [0, 9, 2]
        assert (response.topics[0].topic_id == TOPIC_ID) if version >= 10 else (response.topics[0].name == "t")
        other = await wire.send("offset_commit", version, commit_of(5, 0, topic="other", topic_id=None))
        assert codes(other) == ["unknown_topic_id" if version >= 10 else "unknown_topic_or_partition"]
        wire.log.refuse = NotLeaderOrFollower()
        assert codes(await wire.send("offset_commit", version, commit_of(6, 0, 9))) == [
            "not_coordinator",
            "unknown_topic_or_partition",
        ]

    run()


def test_an_old_commit_carries_its_retention() -> None:
    @on_wire
    async def run(wire: Wire) -> None:
        request = commit_of(5, 0)
        request = OffsetCommitRequest(
            group_id="g", topics=request.topics, retention_time=timedelta(milliseconds=600_000)
        )
        await wire.send("offset_commit", 4, request)
        await wire.clock.elapse(600_000)
        listed = await wire.send("list_groups", 0, ListGroupsRequest())
        assert listed.groups == ()

    run()


def fetch_request(version: int, *, everything: bool = False) -> OffsetFetchRequest:
    if version < 8:
        topics = None if everything else (OffsetFetchRequestTopic(name="t", partition_indexes=(0, 1)),)
        return OffsetFetchRequest(group_id="g", topics=topics)
    several = None
    if not everything:
        several = (OffsetFetchRequestTopics(name="t", topic_id=TOPIC_ID, partition_indexes=(0, 1)),)
    return OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id="g", topics=several),), require_stable=True)


def fetched(version: int, response: Any) -> list[tuple[int, int, str]]:
    topics = response.topics if version < 8 else response.groups[0].topics
    return [
        (each.partition_index, each.committed_offset, each.metadata) for topic in topics for each in topic.partitions
    ]


@pytest.mark.parametrize("version", versions("offset_fetch"))
def test_offset_fetch(version: int) -> None:
    @on_wire
    async def run(wire: Wire) -> None:
        await wire.send("offset_commit", 9, commit_of(5, 0))
        response = await wire.send("offset_fetch", version, fetch_request(version))
        assert fetched(version, response) == [(0, 5, "x"), (1, -1, "")]
        if version >= 2:
            response = await wire.send("offset_fetch", version, fetch_request(version, everything=True))
            assert fetched(version, response) == [(0, 5, "x")]
        wire.groups.unload(0)
        failed = await wire.send("offset_fetch", version, fetch_request(version))
        if version >= 8:
            assert failed.groups[0].error_code.name == "not_coordinator"
        elif version >= 2:
            assert failed.error_code.name == "not_coordinator"
        else:
            assert codes(failed) == ["not_coordinator"] * 2

    run()


def test_fetching_by_id_tells_topics_that_are_gone() -> None:
    @on_wire
    async def run(wire: Wire) -> None:
        await wire.send("offset_commit", 9, commit_of(5, 0))
        asked = (
            OffsetFetchRequestTopics(topic_id=None, partition_indexes=(0,)),
            OffsetFetchRequestTopics(topic_id=TOPIC_ID, partition_indexes=(0,)),
        )
        request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id="g", topics=asked),))
        response = await wire.send("offset_fetch", 10, request)
        assert codes(response.groups[0]) == ["none", "unknown_topic_id"]
        assert response.groups[0].topics[0].topic_id == TOPIC_ID

    run()


def test_offset_delete() -> None:
    @on_wire
    async def run(wire: Wire) -> None:
        asked = (
            OffsetDeleteRequestTopic(
                name="t",
                partitions=(
                    OffsetDeleteRequestPartition(partition_index=0),
                    OffsetDeleteRequestPartition(partition_index=9),
                ),
            ),
            OffsetDeleteRequestTopic(name="other", partitions=(OffsetDeleteRequestPartition(partition_index=0),)),
        )
        request = OffsetDeleteRequest(group_id="g", topics=asked)
        assert (await wire.send("offset_delete", 0, request)).error_code.name == "group_id_not_found"
        await wire.send("offset_commit", 9, commit_of(5, 0))
        response = await wire.send("offset_delete", 0, request)
        assert codes(response) == ["none", "unknown_topic_or_partition", "unknown_topic_or_partition"]

    run()


@pytest.mark.parametrize("version", versions("describe_groups"))
def test_describe_groups(version: int) -> None:
    @on_wire
    async def run(wire: Wire) -> None:
        member_id = await member(wire)
        request = DescribeGroupsRequest(groups=("g", "other"), include_authorized_operations=True)
        known, unknown = (await wire.send("describe_groups", version, request)).groups
        assert (known.group_state, known.protocol_data) == ("Stable", "range")
        [described] = known.members
        assert (described.member_id, described.client_host) == (member_id, "/10.0.0.9")
        assert described.member_assignment == b"mine"
        assert unknown.group_state == "Dead"
        assert unknown.error_code.name == ("group_id_not_found" if version >= 6 else "none")
        if version >= 3:
            assert known.authorized_operations == 3400
        wire.groups.unload(0)
        known, _ = (await wire.send("describe_groups", version, request)).groups
        assert known.error_code.name == "not_coordinator"

    run()


@pytest.mark.parametrize("version", versions("list_groups"))
def test_list_groups(version: int) -> None:
    @on_wire
    async def run(wire: Wire) -> None:
        await member(wire)
        listed = await wire.send("list_groups", version, ListGroupsRequest())
        assert [(each.group_id, each.protocol_type) for each in listed.groups] == [("g", "consumer")]
        if version >= 4:
            filtered = await wire.send("list_groups", version, ListGroupsRequest(states_filter=("Empty",)))
            assert filtered.groups == ()
            assert listed.groups[0].group_state == "Stable"
        if version >= 5:
            assert listed.groups[0].group_type == "classic"

    run()


@pytest.mark.parametrize("version", versions("delete_groups"))
def test_delete_groups(version: int) -> None:
    @on_wire
    async def run(wire: Wire) -> None:
        await member(wire)
        response = await wire.send("delete_groups", version, DeleteGroupsRequest(groups_names=("g", "other")))
        assert {each.group_id: each.error_code.name for each in response.results} == {
            "g": "non_empty_group",
            "other": "group_id_not_found",
        }

    run()


@pytest.mark.parametrize("version", versions("find_coordinator"))
def test_find_coordinator(version: int) -> None:
    @on_wire
    async def run(wire: Wire) -> None:
        async def find(key_type: int, key: str = "g") -> Any:
            request = FindCoordinatorRequest(key=key, coordinator_keys=(key,), key_type=key_type)
            response = await wire.send("find_coordinator", version, request)
            return response.coordinators[0] if version >= 4 else response

        found = await find(0)
        assert (found.error_code.name, found.node_id, found.host, found.port) == ("none", 1, "broker.example", 9092)
        if version >= 1:
            assert (await find(1)).node_id == 1
            assert (await find(2)).error_code.name == "invalid_request"
            share = await find(2, f"a:group:{'A' * 22}:3")
            assert share.error_code.name == ("none" if version >= 6 else "invalid_request")
            assert (await find(3)).error_code.name == "invalid_request"
        wire.refuse_topic = InvalidReplicationFactor("3 brokers are needed")
        wire.cluster.image = wire.image  # without internal topics
        refused = await find(0)
        assert (refused.error_code.name, refused.node_id) == ("coordinator_not_available", -1)
        if version >= 1:
            assert "3 brokers are needed" in refused.error_message

    run()
