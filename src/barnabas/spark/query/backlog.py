"""Looks up the timestamp of the oldest record that a query has not read yet, or that remains after a loss.

ListOffsets finds offsets by time, not times by offset. So a Fetch of one byte is sent: brokers answer with the complete
first batch however large it is, but only of the first partition. So there is one request for each partition, all
pipelined on the leader's connection.
"""

import dataclasses
import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from barnabas.client.cluster import Cluster
from barnabas.client.errors import ClientError
from barnabas.records.batch import NO_TIMESTAMP, split_batches
from barnabas.records.record import decode_records
from barnabas.spark.query.data_loss import Cause, Loss
from barnabas.spark.query.progress import Partition
from barnabas.wire.errors import ErrorCode, KafkaError
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

_FETCH_VERSION_MAX = 12
"""The last version in which topics have names."""
_IN_FLIGHT_MAX = 16
"""Requests in flight, with a batch in each response."""
_DECOMPRESSED_BYTES_MAX = 64 << 20
"""A batch that decompresses to more has no age: a number on a dashboard is not worth more memory."""


def oldest_unread_ms(cluster: Cluster, positions: Mapping[Partition, int]) -> dict[Partition, int]:
    """Timestamps of the first records at or after these offsets; without those that are unknown."""
    found: dict[Partition, int] = {}
    for leader, places in cluster.by_leader(positions).items():
        if leader is None or leader < 0:
            continue
        for first in range(0, len(places), _IN_FLIGHT_MAX):
            found.update(_ask(cluster, leader, {place: positions[place] for place in places[first:][:_IN_FLIGHT_MAX]}))
    return found


def dated(cluster: Cluster, losses: Iterable[Loss]) -> list[Loss]:
    """The same losses, with the times of the oldest records that are left. A report must not fail without them."""
    losses = list(losses)
    left = {(loss.topic, loss.partition): loss.available for loss in losses if loss.cause is Cause.EXPIRED}
    try:
        found = oldest_unread_ms(cluster, {place: offset for place, offset in left.items() if offset is not None})
    except ClientError:
        return losses
    return [
        dataclasses.replace(loss, oldest_left_ms=found.get((loss.topic, loss.partition)))
        if loss.cause is Cause.EXPIRED
        else loss
        for loss in losses
    ]


def first_timestamp_ms(records: bytes | memoryview, position: int) -> int | None:
    """Of the first record of a producer at or after `position`; None if there is none, or it has no timestamp."""
    try:
        for batch in split_batches(records):
            header = batch.header
            if header.is_control or header.next_offset <= position:
                continue
            if header.is_log_append_time:
                return _known(header.max_timestamp)
            if header.base_offset >= position and not header.has_delete_horizon:
                return _known(header.base_timestamp)
            for record in decode_records(batch, max_bytes=_DECOMPRESSED_BYTES_MAX):
                if record.offset >= position:
                    return _known(record.timestamp)
    except KafkaError:  # damaged, too large, or of an older format: its age is unknown
        return None
    return None


def _ask(cluster: Cluster, leader: int, positions: Mapping[Partition, int]) -> dict[Partition, int]:
    version = cluster.version("fetch", node=leader, newest=_FETCH_VERSION_MAX)
    connection = cluster.connection(leader)
    for place, position in positions.items():
        connection.send("fetch", version, _request(place, position))
    found = {}
    for place, position in positions.items():
        for partition in _partitions(connection.receive()):
            if partition.error_code == ErrorCode.none and partition.records:
                timestamp_ms = first_timestamp_ms(partition.records, position)
                if timestamp_ms is not None:
                    found[place] = timestamp_ms
    return found


def _request(place: Partition, position: int) -> FetchRequest:
    topic, index = place
    wanted = FetchPartition(partition=index, fetch_offset=position, partition_max_bytes=1)
    return FetchRequest(
        max_wait=datetime.timedelta(), min_bytes=0, topics=(FetchTopic(topic=topic, partitions=(wanted,)),)
    )


def _partitions(answer: Any) -> Iterable[Any]:
    return (partition for topic in answer.responses for partition in topic.partitions)


def _known(timestamp_ms: int) -> int | None:
    return None if timestamp_ms == NO_TIMESTAMP else timestamp_ms
