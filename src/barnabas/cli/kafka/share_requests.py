"""Requests of `kafka-share-groups` to coordinators."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from barnabas.cli.wire_client import Cluster, Partition, RequestRefused, at_coordinator, by_topic, check
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.share_group_describe import ShareGroupDescribeRequest

SHARE_PROTOCOL = "share"


class ShareMember(NamedTuple):
    member_id: str
    host: str
    client_id: str
    member_epoch: int
    partitions: tuple[Partition, ...]


class ShareGroup(NamedTuple):
    group_id: str
    state: str
    group_epoch: int
    assignment_epoch: int
    members: tuple[ShareMember, ...]
    coordinator: Any


class ShareOffset(NamedTuple):
    start_offset: int | None
    leader_epoch: int | None
    lag: int | None


@at_coordinator
def list_share_groups(cluster: Cluster, states: Sequence[str] = ()) -> list[Any]:
    """Of every broker, by name. Brokers that know no types of groups have none."""
    request = ListGroupsRequest(states_filter=tuple(states))
    found = {}
    for broker in cluster.brokers().brokers:
        answer = cluster.call("list_groups", request, node=broker.broker_id)
        check(answer.error_code)
        found.update({group.group_id: group for group in answer.groups if group.protocol_type == SHARE_PROTOCOL})
    return [found[name] for name in sorted(found)]


@at_coordinator
def describe_share_group(cluster: Cluster, group_id: str) -> ShareGroup:
    coordinator = cluster.coordinator(group_id)
    request = ShareGroupDescribeRequest(group_ids=(group_id,))
    (found,) = cluster.call("share_group_describe", request, node=coordinator.node_id).groups
    check(found.error_code, found.error_message)
    members = tuple(
        ShareMember(
            member.member_id,
            member.client_host,
            member.client_id,
            member.member_epoch,
            tuple(
                (topic.topic_name, index) for topic in member.assignment.topic_partitions for index in topic.partitions
            ),
        )
        for member in found.members
    )
    return ShareGroup(group_id, found.group_state, found.group_epoch, found.assignment_epoch, members, coordinator)


@at_coordinator
def share_offsets(cluster: Cluster, group_id: str) -> dict[Partition, ShareOffset]:
    asked = DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)
    request = DescribeShareGroupOffsetsRequest(groups=(asked,))
    answer = cluster.call("describe_share_group_offsets", request, node=cluster.coordinator(group_id).node_id)
    (found,) = answer.groups
    check(found.error_code, found.error_message)
    return {
        (topic.topic_name, one.partition_index): ShareOffset(
            _known(one.start_offset), None if one.start_offset < 0 else one.leader_epoch, _known(one.lag)
        )
        for topic in found.topics
        for one in topic.partitions
    }


def _known(number: int) -> int | None:
    return None if number < 0 else number


@at_coordinator
def alter_share_offsets(cluster: Cluster, group_id: str, offsets: Mapping[Partition, int]) -> None:
    topics = tuple(
        AlterShareGroupOffsetsRequestTopic(
            topic_name=name,
            partitions=tuple(
                AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offsets[name, index])
                for index in indexes
            ),
        )
        for name, indexes in by_topic(offsets).items()
    )
    request = AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics)
    answer = cluster.call("alter_share_group_offsets", request, node=cluster.coordinator(group_id).node_id)
    check(answer.error_code, answer.error_message)
    for topic in answer.responses:
        for one in topic.partitions:
            if one.error_code != ErrorCode.none:
                raise RequestRefused(one.error_code, f"{topic.topic_name}-{one.partition_index}: {one.error_message}")


@at_coordinator
def delete_share_offsets(cluster: Cluster, group_id: str, topics: Sequence[str]) -> dict[str, str | None]:
    """By topic: why not, or None."""
    asked = tuple(DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in dict.fromkeys(topics))
    request = DeleteShareGroupOffsetsRequest(group_id=group_id, topics=asked)
    answer = cluster.call("delete_share_group_offsets", request, node=cluster.coordinator(group_id).node_id)
    check(answer.error_code, answer.error_message)
    return {
        topic.topic_name: None if topic.error_code == ErrorCode.none else topic.error_message
        for topic in answer.responses
    }
