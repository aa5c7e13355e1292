"""ConsumerGroupHeartbeat and ConsumerGroupDescribe over the wire; and the member checks of OffsetFetch."""

from datetime import timedelta
from typing import Any

import pytest
from group_wire import Wire, on_loop

from barnabas.coordinator.group.common.settings import GroupSettings
from barnabas.metadata.image import ClusterImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)


async def loaded() -> Wire:
    wire = Wire()
    await wire.groups.load(0)
    return wire


def joining(**fields: Any) -> ConsumerGroupHeartbeatRequest:
    values: dict[str, Any] = {
        "group_id": "g",
        "member_id": "a",
        "rebalance_timeout": timedelta(minutes=5),
        "subscribed_topic_names": ("t",),
        "topic_partitions": (),
    }
    return ConsumerGroupHeartbeatRequest(**{**values, **fields})


@pytest.mark.parametrize("version", [0, 1])
@on_loop
async def test_a_member_joins_lives_and_leaves(version: int) -> None:
    wire = await loaded()
    joined = await wire.send("consumer_group_heartbeat", version, joining(member_id="" if version == 0 else "a"))
    assert joined.error_code is ErrorCode.none
    assert joined.member_id == "a" or (version == 0 and len(joined.member_id) == 22)
    assert [each.partitions for each in joined.assignment.topic_partitions] == [(0, 1, 2)]
    alive = ConsumerGroupHeartbeatRequest(group_id="g", member_id=joined.member_id, member_epoch=joined.member_epoch)
    lives = await wire.send("consumer_group_heartbeat", version, alive)
    assert (lives.error_code, lives.member_epoch, lives.assignment) == (ErrorCode.none, joined.member_epoch, None)
    gone = ConsumerGroupHeartbeatRequest(group_id="g", member_id=joined.member_id, member_epoch=-1)
    assert (await wire.send("consumer_group_heartbeat", version, gone)).member_epoch == -1


@pytest.mark.parametrize(
    ("fields", "version", "code", "message"),
    [
        ({"member_id": ""}, 1, ErrorCode.invalid_request, "MemberId can't be empty."),
        ({"member_id": "", "member_epoch": 1}, 0, ErrorCode.invalid_request, "MemberId can't be empty."),
        ({"member_id": "x" * 40_000}, 1, ErrorCode.invalid_request, "MemberId has more"),
        ({"group_id": ""}, 1, ErrorCode.invalid_request, "GroupId can't be empty."),
        ({"group_id": "x" * 40_000}, 1, ErrorCode.invalid_group_id, "more than"),
        ({"instance_id": " "}, 1, ErrorCode.invalid_request, "InstanceId can't be empty."),
        ({"rack_id": ""}, 1, ErrorCode.invalid_request, "RackId can't be empty."),
        (
            {"rebalance_timeout": timedelta(milliseconds=-1)},
            1,
            ErrorCode.invalid_request,
            "RebalanceTimeoutMs must be provided",
        ),
        ({"topic_partitions": None}, 1, ErrorCode.invalid_request, "TopicPartitions must be empty"),
        (
            {"topic_partitions": (TopicPartitions(partitions=(1,)),)},
            1,
            ErrorCode.invalid_request,
            "TopicPartitions must be empty",
        ),
        ({"subscribed_topic_names": None}, 1, ErrorCode.invalid_request, "Either SubscribedTopicNames"),
        ({"member_epoch": -2}, 1, ErrorCode.invalid_request, "InstanceId can't be null."),
        ({"member_epoch": -3}, 1, ErrorCode.invalid_request, "MemberEpoch is invalid."),
        ({"server_assignor": "mine"}, 1, ErrorCode.unsupported_assignor, "Supported assignors: uniform, range."),
        ({"subscribed_topic_regex": "("}, 1, ErrorCode.invalid_regular_expression, "missing )"),
        ({"member_epoch": 5}, 1, ErrorCode.group_id_not_found, "Consumer group g not found."),
    ],
)
@on_loop
async def test_bad_requests_are_told_why(fields: dict[str, Any], version: int, code: ErrorCode, message: str) -> None:
    wire = await loaded()
    refused = await wire.send("consumer_group_heartbeat", version, joining(**fields))
    assert refused.error_code is code
    assert message in refused.error_message


@on_loop
async def test_the_feature_must_be_there() -> None:
    wire = await loaded()
    wire.cluster.image = ClusterImage(topics=wire.image.topics, brokers=wire.image.brokers)
    refused = await wire.send("consumer_group_heartbeat", 1, joining())
    assert refused.error_code is ErrorCode.unsupported_version
    described = await wire.send("consumer_group_describe", 1, ConsumerGroupDescribeRequest(group_ids=("g",)))
    assert described.groups[0].error_code is ErrorCode.unsupported_version
    wire.cluster.image = wire.image
    wire.groups.serves_consumer_protocol = False
    refused = await wire.send("consumer_group_heartbeat", 1, joining())
    assert "group.coordinator.rebalance.protocols" in refused.error_message


@pytest.mark.parametrize("version", [0, 1])
@on_loop
async def test_describe(version: int) -> None:
    wire = await loaded()
    await wire.send("consumer_group_heartbeat", 1, joining())
    request = ConsumerGroupDescribeRequest(group_ids=("g", "x"), include_authorized_operations=True)
    group, missing = (await wire.send("consumer_group_describe", version, request)).groups
    assert (group.group_state, group.assignor_name) == ("Stable", GroupSettings().consumer_assignors[0])
    (member,) = group.members
    assert (member.client_id, member.client_host) == ("app", "/10.0.0.9")
    assert member.member_type == (1 if version == 1 else -1)
    assert [(each.topic_name, each.partitions) for each in member.assignment.topic_partitions] == [("t", (0, 1, 2))]
    assert missing.error_code is ErrorCode.group_id_not_found


@pytest.mark.parametrize("version", [9, 10])
@on_loop
async def test_members_fetch_offsets_in_their_epoch(version: int) -> None:
    wire = await loaded()
    joined = await wire.send("consumer_group_heartbeat", 1, joining())
    topic = wire.image.topics.by_name["t"]

    async def fetched(epoch: int) -> ErrorCode:
        named = OffsetFetchRequestTopics(
            name="t" if version < 10 else "", topic_id=topic.id if version >= 10 else None, partition_indexes=(0,)
        )
        group = OffsetFetchRequestGroup(group_id="g", member_id="a", member_epoch=epoch, topics=(named,))
        response = await wire.send("offset_fetch", version, OffsetFetchRequest(groups=(group,)))
        code = response.groups[0].error_code
        assert isinstance(code, ErrorCode)
        return code

    assert await fetched(joined.member_epoch) is ErrorCode.none
    assert await fetched(joined.member_epoch - 1) is ErrorCode.stale_member_epoch


@on_loop
async def test_answers_wait_until_what_they_tell_is_committed() -> None:
    wire = await loaded()
    wire.log.hold = True
    first = await wire.start("consumer_group_heartbeat", 1, joining())
    assert not first.done()
    # It writes no record itself, but its answer contains what the first has not committed yet.
    second = await wire.start(
        "consumer_group_heartbeat", 1, ConsumerGroupHeartbeatRequest(group_id="g", member_id="a", member_epoch=2)
    )
    described = await wire.start("consumer_group_describe", 1, ConsumerGroupDescribeRequest(group_ids=("g",)))
    assert not second.done()
    assert not described.done()
    wire.log.settle()
    assert (await first).member_epoch == (await second).member_epoch == 2
    assert (await described).groups[0].group_state == "Stable"


@on_loop
async def test_expressions_are_resolved_by_workers() -> None:
    wire = await loaded()
    joined = await wire.send(
        "consumer_group_heartbeat", 1, joining(subscribed_topic_names=None, subscribed_topic_regex="t.*")
    )
    await wire.clock.settle()
    alive = ConsumerGroupHeartbeatRequest(group_id="g", member_id="a", member_epoch=joined.member_epoch)
    wire.clock.advance(2_000)
    await wire.clock.settle()
    assigned = await wire.send("consumer_group_heartbeat", 1, alive)
    assert [each.partitions for each in assigned.assignment.topic_partitions] == [(0, 1, 2)]
