"""Offsets of a consumer group without members: how a reader that keeps its own position shows it to lag tools."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.client.offsets import Partition, by_topic
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)

_NO_OFFSET: Final = -1


class Committed(NamedTuple):
    offset: int
    metadata: str
    leader_epoch: int


def commit_offsets(cluster: Cluster, group: str, offsets: Mapping[Partition, tuple[int, str]]) -> None:
    """Commit an offset and metadata for each partition; Refused with the first partition that was not accepted."""
    if not offsets:
        return
    topics = tuple(
        OffsetCommitRequestTopic(
            name=name,
            partitions=tuple(_to_commit(index, *offsets[name, index]) for index in indexes),
        )
        for name, indexes in by_topic(offsets).items()
    )
    request = OffsetCommitRequest(group_id=group, topics=topics)
    answer = cluster.at_coordinator(group, "offset_commit", request)
    for topic in answer.topics:
        for one in topic.partitions:
            if one.error_code != ErrorCode.none:
                place = f"{topic.name}-{one.partition_index}"
                raise Refused(
                    one.error_code,
                    f"the offset of {place} was not committed in the group {group}: {one.error_code.name.upper()}",
                )


def fetch_offsets(
    cluster: Cluster, group: str, partitions: Iterable[Partition] | None, *, require_stable: bool = False
) -> dict[Partition, Committed]:
    """What is committed for these partitions, or for all; those without an offset are left out.

    `require_stable`: wait for open transactions that change these offsets.
    """
    asked = None if partitions is None else by_topic(partitions)
    request = OffsetFetchRequest(
        groups=(OffsetFetchRequestGroup(group_id=group, topics=_topics(OffsetFetchRequestTopics, asked)),),
        group_id=group,
        topics=_topics(OffsetFetchRequestTopic, asked),
        require_stable=require_stable,
    )
    retry = cluster.retry_policy()
    while True:
        answer = cluster.at_coordinator(group, "offset_fetch", request)
        found = answer.groups[0] if answer.groups else answer
        if found.error_code == ErrorCode.group_id_not_found:
            return {}
        if found.error_code != ErrorCode.none:
            raise Refused(
                found.error_code, f"the offsets of the group {group} cannot be read: {found.error_code.name.upper()}"
            )
        codes = {one.error_code for topic in found.topics for one in topic.partitions}
        if ErrorCode.unstable_offset_commit not in codes:
            return _committed(group, found)
        if not retry.wait():
            raise Refused(
                ErrorCode.unstable_offset_commit,
                f"a transaction that commits offsets of the group {group} does not end",
                "wait for its timeout, or end it: barnabas txn list shows open transactions",
            )


def _to_commit(index: int, offset: int, metadata: str) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata=metadata)


def _topics(kind: type[Any], asked: Mapping[str, list[int]] | None) -> tuple[Any, ...] | None:
    if asked is None:
        return None
    return tuple(kind(name=name, partition_indexes=tuple(indexes)) for name, indexes in asked.items())


def _committed(group: str, found: Any) -> dict[Partition, Committed]:
    committed = {}
    for topic in found.topics:
        for one in topic.partitions:
            place = topic.name, one.partition_index
            if one.error_code not in (ErrorCode.none, ErrorCode.unknown_topic_or_partition):
                raise Refused(
                    one.error_code,
                    f"the offset of {place[0]}-{place[1]} in the group {group} is missing from the response",
                )
            if one.committed_offset != _NO_OFFSET:
                committed[place] = Committed(one.committed_offset, one.metadata or "", one.committed_leader_epoch)
    return committed
