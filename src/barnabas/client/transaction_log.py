"""Reads a partition's raw log: whole batches, including those of open and aborted transactions, and markers.

For callers that need the outcome of a transaction, or records that read_committed consumers never see.
"""

import datetime
from collections.abc import Iterator
from typing import Final

from barnabas.client.cluster import Cluster
from barnabas.client.errors import CannotConnect, ConnectionClosed, Refused, RequestTimedOut, check
from barnabas.client.offsets import EARLIEST, LATEST
from barnabas.client.retrying import LEADER_MOVING
from barnabas.records.batch import Batch, split_batches
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

FETCH_BYTES: Final = 4 * 1024 * 1024
"""Per fetch, unless one batch is larger: bounds the memory of a copy."""

# From the next version on topics have ids instead of names.
_FETCH_NEWEST: Final = 12
_UNREACHABLE: Final = (CannotConnect, ConnectionClosed, RequestTimedOut)
_READ_UNCOMMITTED: Final = 0


class OffsetsGone(Exception):
    """The log does not have this offset, any more or yet."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(f"the log has offsets {start} to {end}")
        self.start = start
        self.end = end


def read_log(cluster: Cluster, topic: str, partition: int, *, start: int, end: int | None = None) -> Iterator[Batch]:
    """Batches from the one with offset `start` on, up to `end` or to the current high watermark.

    OffsetsGone if the log does not have `start`.
    """
    position = start
    while end is None or position < end:
        found, high_watermark = fetch_batches(cluster, topic, partition, position)
        # Without an end, read up to the high watermark of the first response.
        end = high_watermark if end is None else end
        before = position
        for batch in found:
            if batch.header.next_offset <= position:
                continue
            if batch.header.base_offset >= end:
                return
            yield batch
            position = batch.header.next_offset
        if position == before:
            # Compaction has left nothing up to the end, or nothing is there yet.
            return


def log_bounds(cluster: Cluster, topic: str, partition: int) -> tuple[int, int]:
    """The log start offset and the high watermark."""
    place = topic, partition
    bounds = [cluster.offsets([place], timestamp)[place] for timestamp in (EARLIEST, LATEST)]
    for bound in bounds:
        check(bound.error, f"the offsets of {topic}-{partition} cannot be read: {bound.error.name.upper()}")
    return bounds[0].offset, bounds[1].offset


def fetch_batches(
    cluster: Cluster, topic: str, partition: int, offset: int, *, max_bytes: int = FETCH_BYTES
) -> tuple[list[Batch], int]:
    """Batches from the one with this offset on, at least one if there is any, and the high watermark."""
    request = FetchRequest(
        max_wait=datetime.timedelta(0),
        min_bytes=0,
        max_bytes=max_bytes,
        isolation_level=_READ_UNCOMMITTED,
        topics=(
            FetchTopic(
                topic=topic,
                partitions=(FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes),),
            ),
        ),
    )
    retry = cluster.retry_policy()
    while True:
        node = cluster.leader(topic, partition)
        try:
            version = cluster.version("fetch", node=node, newest=_FETCH_NEWEST)
            answer = cluster.connection(node).call("fetch", version, request)
        except _UNREACHABLE:
            cluster.drop_broken(node)
            if not retry.wait():
                raise
            continue
        data = answer.responses[0].partitions[0]
        if data.error_code == ErrorCode.none:
            return list(split_batches(data.records or b"")), data.high_watermark
        if data.error_code == ErrorCode.offset_out_of_range:
            raise OffsetsGone(*log_bounds(cluster, topic, partition))
        if data.error_code not in LEADER_MOVING or not retry.wait():
            raise Refused(data.error_code, f"{topic}-{partition} cannot be read: {data.error_code.name.upper()}")
        cluster.leader(topic, partition, refresh=True)
