"""Requests of the scripts to group coordinators."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from barnabas.cli.wire_client import (
    COORDINATOR_BUSY,
    Cluster,
    Partition,
    RequestRefused,
    at_coordinator,
    by_topic,
    check,
)
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
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
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

CONSUMER_PROTOCOL = "consumer"
_CLASSIC_MEMBER, _CONSUMER_MEMBER = 0, 1

WORDS = {
    ErrorCode.group_id_not_found: "The group id does not exist.",
    ErrorCode.non_empty_group: "The group is not empty.",
    ErrorCode.unknown_topic_or_partition: "This server does not host this topic-partition.",
    ErrorCode.group_subscribed_to_topic: "Deleting offsets of a topic is forbidden while the consumer group is "
    "actively subscribed to it.",
}


class Member(NamedTuple):
    member_id: str
    instance_id: str
    client_id: str
    host: str
    partitions: tuple[Partition, ...]
    epoch: int | None = None
    target: tuple[Partition, ...] = ()
    is_upgraded: bool | None = None
    """Whether it uses the consumer protocol (KIP-848); None in a classic group."""


class Group(NamedTuple):
    group_id: str
    state: str
    assignor: str
    members: tuple[Member, ...]
    coordinator: Any
    epoch: int | None = None
    target_epoch: int | None = None
    """Of a consumer group (KIP-848); None for a classic one."""


class Committed(NamedTuple):
    offset: int
    leader_epoch: int


def words(code: ErrorCode) -> str:
    return WORDS.get(code, code.name.upper())


def list_groups(cluster: Cluster, states: Sequence[str] = (), types: Sequence[str] = ()) -> list[Any]:
    """Consumer groups of all brokers, by name, including groups that only have offsets."""
    found = list_all_groups(cluster, states, types)
    return [group for group in found if group.protocol_type in ("", CONSUMER_PROTOCOL)]


@at_coordinator
def list_all_groups(cluster: Cluster, states: Sequence[str] = (), types: Sequence[str] = ()) -> list[Any]:
    """Groups of all types of all brokers, by name."""
    request = ListGroupsRequest(states_filter=tuple(states), types_filter=tuple(types))
    found = {}
    for broker in cluster.brokers().brokers:
        answer = cluster.call("list_groups", request, node=broker.broker_id)
        check(answer.error_code)
        found.update({group.group_id: group for group in answer.groups})
    return [found[name] for name in sorted(found)]


@at_coordinator
def describe_group(cluster: Cluster, group_id: str) -> Group:
    coordinator = cluster.coordinator(group_id)
    if cluster.serves("consumer_group_describe", node=coordinator.node_id):
        asked = ConsumerGroupDescribeRequest(group_ids=(group_id,))
        (described,) = cluster.call("consumer_group_describe", asked, node=coordinator.node_id).groups
        if described.error_code not in (ErrorCode.group_id_not_found, ErrorCode.unsupported_version):
            check(described.error_code, described.error_message)
            return _consumer_group(described, coordinator)
    request = DescribeGroupsRequest(groups=(group_id,))
    (found,) = cluster.call("describe_groups", request, node=coordinator.node_id).groups
    check(found.error_code, found.error_message)
    members = tuple(
        Member(
            member.member_id,
            member.group_instance_id or "",
            member.client_id,
            member.client_host,
            _assigned(member.member_assignment),
        )
        for member in found.members
    )
    return Group(group_id, found.group_state, found.protocol_data, members, coordinator)


def _consumer_group(described: Any, coordinator: Any) -> Group:
    members = tuple(
        Member(
            member.member_id,
            member.instance_id or "",
            member.client_id,
            member.client_host,
            _places(member.assignment),
            member.member_epoch,
            _places(member.target_assignment),
            {_CLASSIC_MEMBER: False, _CONSUMER_MEMBER: True}.get(member.member_type),
        )
        for member in described.members
    )
    return Group(
        described.group_id,
        described.group_state,
        described.assignor_name,
        members,
        coordinator,
        described.group_epoch,
        described.assignment_epoch,
    )


def _places(assignment: Any) -> tuple[Partition, ...]:
    return tuple((topic.topic_name, index) for topic in assignment.topic_partitions for index in topic.partitions)


@at_coordinator
def committed_offsets(cluster: Cluster, group_id: str) -> dict[Partition, Committed]:
    request = OffsetFetchRequest(
        groups=(OffsetFetchRequestGroup(group_id=group_id, topics=None),), group_id=group_id, topics=None
    )
    answer = cluster.call("offset_fetch", request, node=cluster.coordinator(group_id).node_id)
    found = answer.groups[0] if answer.groups else answer
    check(found.error_code)
    return {
        (topic.name, one.partition_index): Committed(one.committed_offset, one.committed_leader_epoch)
        for topic in found.topics
        for one in topic.partitions
        if one.committed_offset >= 0
    }


@at_coordinator
def commit_offsets(cluster: Cluster, group_id: str, offsets: Mapping[Partition, int]) -> None:
    topics = tuple(
        OffsetCommitRequestTopic(
            name=name,
            partitions=tuple(
                OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=offsets[name, index], committed_metadata=""
                )
                for index in indexes
            ),
        )
        for name, indexes in by_topic(offsets).items()
    )
    request = OffsetCommitRequest(group_id=group_id, topics=topics)
    answer = cluster.call("offset_commit", request, node=cluster.coordinator(group_id).node_id)
    for topic in answer.topics:
        for one in topic.partitions:
            if one.error_code != ErrorCode.none:
                raise RequestRefused(one.error_code, f"{topic.name}-{one.partition_index}: {words(one.error_code)}")


@at_coordinator
def delete_offsets(cluster: Cluster, group_id: str, partitions: Iterable[Partition]) -> dict[Partition, ErrorCode]:
    topics = tuple(
        OffsetDeleteRequestTopic(
            name=name, partitions=tuple(OffsetDeleteRequestPartition(partition_index=index) for index in indexes)
        )
        for name, indexes in by_topic(partitions).items()
    )
    request = OffsetDeleteRequest(group_id=group_id, topics=topics)
    answer = cluster.call("offset_delete", request, node=cluster.coordinator(group_id).node_id)
    if answer.error_code != ErrorCode.none:
        raise RequestRefused(answer.error_code, words(answer.error_code))
    return {(topic.name, one.partition_index): one.error_code for topic in answer.topics for one in topic.partitions}


@at_coordinator
def delete_group(cluster: Cluster, group_id: str) -> ErrorCode:
    request = DeleteGroupsRequest(groups_names=(group_id,))
    (result,) = cluster.call("delete_groups", request, node=cluster.coordinator(group_id).node_id).results
    code = ErrorCode(result.error_code)
    if code in COORDINATOR_BUSY:
        raise RequestRefused(code)
    return code


def _assigned(content: bytes) -> tuple[Partition, ...]:
    from barnabas.cli.kafka.consumer_protocol import decode_assignment

    decoded = decode_assignment(content)
    if decoded is None:
        return ()
    return tuple((topic, index) for topic, indexes in decoded.partitions for index in indexes)
