"""Finds the first record of a partition, from some offset on, with a given timestamp or a later one.

Brokers answer this for the whole log, from their indexes (ListOffsets), which is enough in most cases. It is not if the
record is before the given offset, because timestamps that producers set need not be in order; and not if it is a
transaction marker, which has the time of its coordinator, however old the records around it are. Then the log is read
batch by batch: the batch headers are enough, and are remembered.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.client.transaction_log import FETCH_BYTES, OffsetsGone, fetch_batches
from barnabas.model import TopicPartition
from barnabas.records.record import decode_records
from barnabas.spark.source.alignment import Found
from barnabas.wire.errors import ErrorCode

_ONE_BATCH: Final = 1
"""Brokers answer with a complete batch however little is requested."""
_DECODED_BYTES_MAX: Final = 256 * 1024 * 1024


class _Batch(NamedTuple):
    base_offset: int
    next_offset: int
    max_timestamp: int
    """Of records; -1 in a batch of markers."""


class LogTimes:
    """Not thread-safe."""

    def __init__(self, isolation_level: int) -> None:
        self._isolation_level = isolation_level
        self._seen: dict[TopicPartition, list[_Batch]] = {}
        """Consecutive batches, for partitions where ListOffsets is not enough."""

    def forget(self) -> None:
        """A topic was created again."""
        self._seen.clear()

    def first_since(
        self,
        cluster: Cluster,
        timestamp_ms: int,
        begin: Mapping[TopicPartition, int],
        end: Mapping[TopicPartition, int],
    ) -> dict[TopicPartition, Found]:
        """For each partition with offsets from its begin to its end; those without such a record are left out."""
        asked = [(place.topic, place.partition) for place in end if place in begin and begin[place] < end[place]]
        found: dict[TopicPartition, Found] = {}
        for pair, answer in cluster.offsets(asked, timestamp_ms, isolation_level=self._isolation_level).items():
            place = TopicPartition(*pair)
            if answer.error != ErrorCode.none:
                raise Refused(answer.error, f"the offsets of {place} cannot be fetched: {answer.error.name.upper()}")
            if answer.offset < 0 or answer.offset >= end[place]:
                continue
            if answer.offset >= begin[place] and not _is_marker(cluster, place, answer.offset):
                found[place] = Found(answer.offset, answer.timestamp)
                continue
            by_reading = self._read(cluster, place, max(begin[place], answer.offset), end[place], timestamp_ms)
            if by_reading is not None:
                found[place] = by_reading
        return found

    def _read(self, cluster: Cluster, place: TopicPartition, start: int, end: int, timestamp_ms: int) -> Found | None:
        seen = [batch for batch in self._seen.get(place, ()) if batch.next_offset > start]
        if seen and seen[0].base_offset > start:
            seen = []
        self._seen[place] = seen
        index, size = 0, _ONE_BATCH
        while True:
            if index == len(seen):
                position = seen[-1].next_offset if seen else start
                if position >= end or not self._extend(cluster, place, position, size):
                    return None
                size = FETCH_BYTES
            batch = seen[index]
            index += 1
            if batch.base_offset >= end:
                return None
            if batch.max_timestamp >= timestamp_ms:
                for record in _records(cluster, place, batch.base_offset):
                    if start <= record.offset < end and record.timestamp_ms >= timestamp_ms:
                        return record

    def _extend(self, cluster: Cluster, place: TopicPartition, position: int, max_bytes: int) -> bool:
        """False: there are no batches after that position."""
        try:
            batches, _ = fetch_batches(cluster, place.topic, place.partition, position, max_bytes=max_bytes)
        except OffsetsGone as gone:
            # Retention was faster. Whether that is a loss is decided when the batch is planned.
            if gone.start <= position:
                return False
            batches, _ = fetch_batches(cluster, place.topic, place.partition, gone.start, max_bytes=max_bytes)
        more = [
            _Batch(
                batch.header.base_offset,
                batch.header.next_offset,
                -1 if batch.header.is_control else batch.header.max_timestamp,
            )
            for batch in batches
            if batch.header.next_offset > position
        ]
        self._seen[place] += more
        return bool(more)


def _is_marker(cluster: Cluster, place: TopicPartition, offset: int) -> bool:
    try:
        batches, _ = fetch_batches(cluster, place.topic, place.partition, offset, max_bytes=_ONE_BATCH)
    except OffsetsGone:
        return False
    return any(batch.header.is_control for batch in batches if batch.header.base_offset <= offset)


def _records(cluster: Cluster, place: TopicPartition, base_offset: int) -> list[Found]:
    batches, _ = fetch_batches(cluster, place.topic, place.partition, base_offset, max_bytes=_ONE_BATCH)
    return [
        Found(record.offset, record.timestamp)
        for batch in batches[:1]
        for record in decode_records(batch, max_bytes=_DECODED_BYTES_MAX)
    ]
