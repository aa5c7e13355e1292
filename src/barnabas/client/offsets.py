"""ListOffsets over a whole cluster: each partition at its leader, with retries while leaders move."""

import datetime
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas.client.errors import CannotConnect, ClientError, ConnectionClosed, RequestTimedOut
from barnabas.client.retrying import LEADER_MOVING
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

if TYPE_CHECKING:
    from barnabas.client.cluster import Cluster

Partition = tuple[str, int]

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
"""Instead of a timestamp."""

_CONSUMER: Final = -1


class Offset(NamedTuple):
    offset: int
    """-1 if no record has that timestamp or a later one."""
    timestamp: int
    leader_epoch: int
    error: ErrorCode


def list_offsets(
    cluster: "Cluster",
    partitions: Iterable[Partition],
    timestamp: int | Mapping[Partition, int],
    *,
    isolation_level: int = 0,
) -> dict[Partition, Offset]:
    partitions = list(partitions)
    timestamps = dict.fromkeys(partitions, timestamp) if isinstance(timestamp, int) else timestamp
    found: dict[Partition, Offset] = {}
    retry = cluster.retry_policy()
    while True:
        failure: ClientError | None = None
        due = [place for place in partitions if place not in found or found[place].error in LEADER_MOVING]
        for leader, places in cluster.by_leader(due).items():
            if leader is None or leader < 0:
                code = ErrorCode.unknown_topic_or_partition if leader is None else ErrorCode.leader_not_available
                found.update(dict.fromkeys(places, Offset(-1, -1, -1, code)))
                continue
            try:
                found.update(_ask(cluster, leader, places, timestamps, isolation_level))
            except (CannotConnect, ConnectionClosed, RequestTimedOut) as unreachable:
                cluster.drop_broken(leader)
                failure = unreachable
        if failure is None and not any(found[place].error in LEADER_MOVING for place in partitions):
            break
        if not retry.wait():
            if failure is not None:
                raise failure
            break
    return {place: found[place] for place in partitions}


def _ask(
    cluster: "Cluster",
    leader: int,
    places: Iterable[Partition],
    timestamps: Mapping[Partition, int],
    isolation_level: int,
) -> dict[Partition, Offset]:
    topics = tuple(
        ListOffsetsTopic(
            name=name,
            partitions=tuple(
                ListOffsetsPartition(partition_index=index, timestamp=timestamps[name, index]) for index in indexes
            ),
        )
        for name, indexes in by_topic(places).items()
    )
    request = ListOffsetsRequest(
        replica_id=_CONSUMER,
        isolation_level=isolation_level,
        topics=topics,
        timeout=datetime.timedelta(seconds=cluster.settings.request_timeout_s),
    )
    answer = cluster.call_once("list_offsets", request, node=leader)
    return {
        (topic.name, one.partition_index): Offset(one.offset, one.timestamp, one.leader_epoch, one.error_code)
        for topic in answer.topics
        for one in topic.partitions
    }


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for topic, index in partitions:
        grouped.setdefault(topic, []).append(index)
    return grouped
