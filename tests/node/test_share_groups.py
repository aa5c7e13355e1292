"""Share groups over the wire: members, assignments, descriptions, offsets, and the end of a group."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from share_member import ACCEPT, ShareMember, acquired, find_coordinator, produce
from share_world import ShareWorld, eventually

from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.share_fetch import ShareFetchResponse
from barnabas.wire.messages.share_group_describe import ShareGroupDescribeRequest
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest


@pytest.fixture
def topic(world: ShareWorld) -> uuid.UUID:
    world.configure(auto_offset_reset="earliest")
    return world.make_topic()


def has_records(response: ShareFetchResponse) -> bool:
    return bool(acquired(response))


def assignment(answer: Any) -> dict[uuid.UUID, tuple[int, ...]]:
    assert answer.error_code == ErrorCode.none, answer.error_message
    assert answer.assignment is not None
    return {each.topic_id: each.partitions for each in answer.assignment.topic_partitions}


def describe(world: ShareWorld, group: str = "g") -> Any:
    request = ShareGroupDescribeRequest(group_ids=(group,), include_authorized_operations=True)
    return world.connect().call("share_group_describe", 1, request).groups[0]


def offsets(world: ShareWorld, *partitions: int, group: str = "g") -> Any:
    """(start offset, lag) by partition of topic t; without partitions: of all."""
    topics = (DescribeShareGroupOffsetsRequestTopic(topic_name="t", partitions=partitions),) if partitions else None
    asked = DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=topics)
    answer = world.connect().call("describe_share_group_offsets", 1, DescribeShareGroupOffsetsRequest(groups=(asked,)))
    found = answer.groups[0]
    if found.error_code != ErrorCode.none:
        return found.error_code
    return {each.partition_index: (each.start_offset, each.lag) for one in found.topics for each in one.partitions}


def alter(world: ShareWorld, start_offset: int, partition: int = 0, *, topic: str = "t", group: str = "g") -> Any:
    asked = AlterShareGroupOffsetsRequestTopic(
        topic_name=topic,
        partitions=(AlterShareGroupOffsetsRequestPartition(partition_index=partition, start_offset=start_offset),),
    )
    request = AlterShareGroupOffsetsRequest(group_id=group, topics=(asked,))
    answer = world.connect().call("alter_share_group_offsets", 0, request)
    return answer.error_code, *(each.error_code for one in answer.responses for each in one.partitions)


def delete_offsets(world: ShareWorld, topic: str = "t", group: str = "g") -> Any:
    asked = DeleteShareGroupOffsetsRequestTopic(topic_name=topic)
    request = DeleteShareGroupOffsetsRequest(group_id=group, topics=(asked,))
    answer = world.connect().call("delete_share_group_offsets", 0, request)
    return answer.error_code, *(one.error_code for one in answer.responses)


def test_a_member_learns_its_partitions_at_once(world: ShareWorld, topic: uuid.UUID) -> None:
    client = world.connect()
    find_coordinator(client, "g")
    member = ShareMember(client)
    answer = eventually(lambda: member.heartbeat("t", epoch=0), lambda beat: beat.error_code == ErrorCode.none)
    assert assignment(answer) == {topic: (0, 1)}
    assert answer.heartbeat_interval == timedelta(seconds=5)
    assert member.heartbeat().assignment is None


def test_members_share_partitions(world: ShareWorld, topic: uuid.UUID) -> None:
    members = [world.member() for _ in range(3)]
    world.clock.advance(1_000)  # the assignment interval
    held = [assignment(member.heartbeat("t")) for member in members]
    world.clock.advance(1_000)
    held = [assignment(member.heartbeat("t")) for member in members]
    counts = [len(each.get(topic, ())) for each in held]
    assert sum(counts) in (3, 4)
    assert min(counts) >= 1
    members.pop().leave()
    world.clock.advance(1_000)
    left = [assignment(member.heartbeat("t")) for member in members]
    world.clock.advance(1_000)
    left = [assignment(member.heartbeat("t")) for member in members]
    assert sorted(index for each in left for index in each.get(topic, ())) == [0, 1]


def test_new_partitions_and_new_topics_are_found(world: ShareWorld, topic: uuid.UUID) -> None:
    member = world.member()
    grow = CreatePartitionsRequest(
        topics=(CreatePartitionsTopic(name="t", count=3, assignments=None),), timeout=timedelta(seconds=5)
    )
    world.connect().call("create_partitions", 3, grow)
    world.clock.advance(1_000)
    found = eventually(lambda: member.heartbeat("t"), lambda beat: assignment(beat) == {topic: (0, 1, 2)})
    assert found.error_code == ErrorCode.none
    other = ShareMember(member.client, member="b")
    other.heartbeat("t", "later", epoch=0)
    later = world.make_topic("later", 1)
    world.clock.advance(1_000)
    eventually(lambda: other.heartbeat("t", "later"), lambda beat: later in assignment(beat))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"member": ""}, ErrorCode.invalid_request),
        ({"group": ""}, ErrorCode.invalid_request),
        ({"epoch": -2}, ErrorCode.invalid_request),
        ({"epoch": 9}, ErrorCode.fenced_member_epoch),
        ({"member": "stranger", "epoch": 1}, ErrorCode.unknown_member_id),
        ({"member": "stranger", "epoch": -1}, ErrorCode.unknown_member_id),
        ({"group": "none", "epoch": 1}, ErrorCode.group_id_not_found),
        ({"group": "none", "epoch": -1}, ErrorCode.group_id_not_found),
        ({"topics": (), "epoch": 0}, ErrorCode.invalid_request),
    ],
)
def test_nonsense_is_refused(world: ShareWorld, topic: uuid.UUID, changes: dict[str, Any], error: ErrorCode) -> None:
    member = world.member()
    member.group = changes.get("group", member.group)
    member.member = changes.get("member", member.member)
    topics = changes.get("topics", ("t",))
    assert member.heartbeat(*topics, epoch=changes.get("epoch", 0)).error_code == error


def test_a_group_is_of_one_kind(world: ShareWorld, topic: uuid.UUID) -> None:
    client = world.connect()
    find_coordinator(client, "plain")
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    commit = OffsetCommitRequest(
        group_id="plain",
        generation_id_or_member_epoch=-1,
        topics=(OffsetCommitRequestTopic(name="t", partitions=(partition,)),),
    )
    eventually(
        lambda: client.call("offset_commit", 8, commit).topics[0].partitions[0].error_code,
        lambda code: code == ErrorCode.none,
    )
    assert ShareMember(client, "plain").heartbeat("t").error_code == ErrorCode.group_id_not_found
    assert describe(world, "plain").error_code == ErrorCode.group_id_not_found
    world.member()
    commit = commit.replace(group_id="g")
    assert client.call("offset_commit", 8, commit).topics[0].partitions[0].error_code != ErrorCode.none


def test_the_number_of_members_is_bounded(world: ShareWorld, topic: uuid.UUID) -> None:
    world.properties["group.share.max.size"] = "1"
    world.restart()
    world.member()
    assert ShareMember(world.connect()).heartbeat("t").error_code == ErrorCode.group_max_size_reached


def test_a_silent_member_is_removed(world: ShareWorld, topic: uuid.UUID) -> None:
    member = world.member()
    world.clock.advance(44_999)
    assert member.heartbeat().error_code == ErrorCode.none
    world.clock.advance(44_999)
    assert describe(world).group_state == "Stable"
    world.clock.advance(1)
    assert describe(world).group_state == "Empty"
    assert member.heartbeat().error_code == ErrorCode.unknown_member_id


def test_a_group_is_described_and_listed(world: ShareWorld, topic: uuid.UUID) -> None:
    member = world.member()
    described = describe(world)
    assert (described.group_state, described.assignor_name) == ("Stable", "simple")
    assert described.group_epoch == described.assignment_epoch
    (described_member,) = described.members
    assert (described_member.member_id, described_member.subscribed_topic_names) == (member.member, ("t",))
    assert [(each.topic_name, each.partitions) for each in described_member.assignment.topic_partitions] == [
        ("t", (0, 1))
    ]
    assert described.authorized_operations > 0
    listed = world.connect().call("list_groups", 5, ListGroupsRequest(types_filter=("share",))).groups
    assert [(each.group_id, each.group_type, each.protocol_type) for each in listed] == [("g", "share", "share")]
    assert describe(world, "nobody").error_code == ErrorCode.group_id_not_found


def test_members_are_remembered(world: ShareWorld, topic: uuid.UUID) -> None:
    before = world.member()
    epoch = describe(world).group_epoch
    world.restart()
    again = ShareMember(world.connect(), member=before.member)
    again.member_epoch = before.member_epoch
    beat = eventually(lambda: again.heartbeat("t"), lambda beat: beat.error_code == ErrorCode.none)
    assert assignment(beat) == {topic: (0, 1)}
    assert describe(world).group_epoch == epoch


def test_offsets_and_lag(world: ShareWorld, topic: uuid.UUID) -> None:
    produce(world.connect(), "t", 10)
    member = world.member()
    eventually(lambda: member.fetch(topic, epoch=0), has_records)
    assert offsets(world)[0] == (0, 10)
    member.acknowledge(topic, (2, 4, [ACCEPT]))
    assert offsets(world, 0) == {0: (0, 7)}
    member.acknowledge(topic, (0, 1, [ACCEPT]))
    assert offsets(world, 0) == {0: (0, 5)}
    member.acknowledge(topic, (5, 5, [ACCEPT]))
    assert offsets(world, 0) == {0: (5, 4)}
    assert offsets(world, 0, group="nobody") == {0: (-1, -1)}
    assert offsets(world, group="nobody") == ErrorCode.group_id_not_found


def test_offsets_can_be_set(world: ShareWorld, topic: uuid.UUID) -> None:
    produce(world.connect(), "t", 2, 2, 2)
    member = world.member()
    eventually(lambda: member.fetch(topic, epoch=0), has_records)
    member.acknowledge(topic, (0, 5, [ACCEPT]))
    assert alter(world, 2) == (ErrorCode.non_empty_group,)
    member.fetch(epoch=-1)
    member.leave()
    assert alter(world, 2) == (ErrorCode.none, ErrorCode.none)
    assert offsets(world, 0) == {0: (2, 4)}
    again = world.member()
    assert acquired(eventually(lambda: again.fetch(topic, epoch=0), has_records)) == [(2, 5, 1)]
    again.leave()
    assert alter(world, 2, 9) == (ErrorCode.none, ErrorCode.unknown_topic_or_partition)
    assert alter(world, -1) == (ErrorCode.none, ErrorCode.invalid_request)
    assert alter(world, 0, topic="none") == (ErrorCode.none, ErrorCode.unknown_topic_or_partition)
    assert alter(world, 0, group="") == (ErrorCode.invalid_group_id,)


def test_setting_offsets_makes_a_group(world: ShareWorld, topic: uuid.UUID) -> None:
    find_coordinator(world.connect(), "new")
    answer = eventually(lambda: alter(world, 1, group="new"), lambda codes: codes[0] == ErrorCode.none)
    assert answer == (ErrorCode.none, ErrorCode.none)
    assert describe(world, "new").group_state == "Empty"
    produce(world.connect(), "t", 3)
    member = world.member("new")
    assert acquired(eventually(lambda: member.fetch(topic, epoch=0), has_records)) == [(1, 2, 1)]


def test_offsets_can_be_deleted(world: ShareWorld, topic: uuid.UUID) -> None:
    member = world.member()
    assert delete_offsets(world) == (ErrorCode.non_empty_group,)
    member.leave()
    assert delete_offsets(world) == (ErrorCode.none, ErrorCode.none)
    assert offsets(world) == {}
    assert delete_offsets(world) == (ErrorCode.none, ErrorCode.unknown_topic_or_partition)
    assert delete_offsets(world, "none") == (ErrorCode.none, ErrorCode.unknown_topic_or_partition)
    assert delete_offsets(world, group="nobody") == (ErrorCode.group_id_not_found,)


def test_a_group_is_deleted_with_its_states(world: ShareWorld, topic: uuid.UUID) -> None:
    produce(world.connect(), "t", 3)
    member = world.member()
    eventually(lambda: member.fetch(topic, epoch=0), has_records)
    member.acknowledge(topic, (0, 2, [ACCEPT]))

    def delete() -> ErrorCode:
        answer = world.connect().call("delete_groups", 2, DeleteGroupsRequest(groups_names=("g",)))
        code = answer.results[0].error_code
        assert isinstance(code, ErrorCode)
        return code

    assert delete() == ErrorCode.non_empty_group
    member.fetch(epoch=-1)
    member.leave()
    assert delete() == ErrorCode.none
    assert delete() == ErrorCode.group_id_not_found
    assert describe(world).error_code == ErrorCode.group_id_not_found
    anew = world.member()
    assert acquired(eventually(lambda: anew.fetch(topic, epoch=0), has_records)) == [(0, 2, 1)]


def test_a_deleted_topic_leaves_nothing_behind(world: ShareWorld, topic: uuid.UUID) -> None:
    world.member()
    request = DeleteTopicsRequest(topics=(DeleteTopicState(name="t"),), timeout=timedelta(seconds=5))
    world.connect().call("delete_topics", 6, request)
    eventually(lambda: offsets(world), lambda found: found == {})


def test_a_cluster_may_be_without_share_groups(world: ShareWorld, topic: uuid.UUID) -> None:
    update = UpdateFeaturesRequest(
        timeout=timedelta(seconds=5),
        feature_updates=(FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=2),),
    )
    assert world.connect().call("update_features", 2, update).error_code == ErrorCode.none
    member = ShareMember(world.connect())
    assert member.heartbeat("t").error_code == ErrorCode.unsupported_version
    assert member.fetch(topic, epoch=0).error_code == ErrorCode.unsupported_version
    assert describe(world).error_code == ErrorCode.unsupported_version
    assert offsets(world) == ErrorCode.unsupported_version
    assert alter(world, 0) == (ErrorCode.unsupported_version,)
    assert delete_offsets(world) == (ErrorCode.unsupported_version,)
