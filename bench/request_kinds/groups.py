"""What consumers of a group send besides Fetch."""

from collections.abc import Callable
from typing import Final

from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from bench.load.groups import CONSUMER_HEARTBEAT_VERSION, found_groups, join_alone, join_consumer_groups
from bench.request_kinds.kind import EQUAL, HALF, RequestKind, repeated
from bench.request_kinds.topics import GROUPS, TOPIC, WIDE_PARTITIONS, WIDE_TOPIC


def _commit(count: int) -> Callable[[int], list[OffsetCommitRequest]]:
    partitions = tuple(
        OffsetCommitRequestPartition(partition_index=index, committed_offset=1_000 + index) for index in range(count)
    )
    topics = (OffsetCommitRequestTopic(name=WIDE_TOPIC, partitions=partitions),)
    return lambda _: [
        OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=topics) for group in GROUPS
    ]


def _heartbeat(port: int) -> list[HeartbeatRequest]:
    groups = [f"{group}-with-member" for group in GROUPS]
    return [
        HeartbeatRequest(group_id=group, generation_id=generation, member_id=member_id)
        for group, (generation, member_id) in zip(groups, join_alone(port, groups), strict=True)
    ]


def _consumer_heartbeat(port: int) -> list[ConsumerGroupHeartbeatRequest]:
    return join_consumer_groups(port, [f"{group}-of-consumers" for group in GROUPS], TOPIC)


def _fetch_offsets(port: int) -> list[OffsetFetchRequest]:
    found_groups(port, GROUPS, WIDE_TOPIC, WIDE_PARTITIONS)
    topics = (OffsetFetchRequestTopics(name=WIDE_TOPIC, partition_indexes=tuple(range(WIDE_PARTITIONS))),)
    return [OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group, topics=topics),)) for group in GROUPS]


KINDS: Final = (
    RequestKind("OffsetCommit 9 of 1", repeated("offset_commit", 9, _commit(1)), EQUAL),
    RequestKind("OffsetCommit 9 of 100", repeated("offset_commit", 9, _commit(100)), HALF),
    RequestKind("OffsetFetch 9 of 100", repeated("offset_fetch", 9, _fetch_offsets)),
    RequestKind("Heartbeat 4", repeated("heartbeat", 4, _heartbeat), EQUAL),
    RequestKind(
        "ConsumerGroupHeartbeat 1",
        repeated("consumer_group_heartbeat", CONSUMER_HEARTBEAT_VERSION, _consumer_heartbeat),
    ),
)
