"""A compacted topic in which pipelines store metadata: the last value of each key. All pipelines share it.

It is read uncommitted, because an open transaction of one pipeline must not hide the values of another; the markers
tell which records are committed. To be sure of its own last value, a writer first takes over the transactional id that
writes it: then all its transactions have ended.
"""

import time
from collections.abc import Iterable, Iterator
from typing import Final

from barnabas.client.cluster import Cluster
from barnabas.client.topic_creation import create_compacted_topic
from barnabas.client.transaction_log import OffsetsGone, log_bounds, read_log
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.records.batch import Batch
from barnabas.records.control import read_marker
from barnabas.records.record import Record, build_batch, decode_records

TOPIC: Final = "__barnabas_pipelines"
_PARTITION: Final = 0
_BATCH_BYTES_MAX: Final = 64 * 1024 * 1024


def read(cluster: Cluster) -> dict[str, bytes]:
    """The last value of each key; empty if there is no such topic."""
    if TOPIC not in cluster.topics([TOPIC]):
        return {}
    while True:
        start, end = log_bounds(cluster, TOPIC, _PARTITION)
        try:
            records = list(committed(read_log(cluster, TOPIC, _PARTITION, start=start, end=end)))
        except OffsetsGone:
            continue  # the start was removed between the two requests
        break
    values: dict[str, bytes] = {}
    for record in records:
        if record.key is None:
            continue
        key = record.key.decode(errors="replace")
        values.pop(key, None)
        if record.value is not None:
            values[key] = record.value
    return values


def write(writer: TransactionWriter, values: Iterable[tuple[str, bytes | None]]) -> None:
    """In the writer's transaction. None removes a key."""
    now_ms = int(time.time() * 1000)
    records = [Record(number, now_ms, key.encode(), value) for number, (key, value) in enumerate(values)]
    writer.append(TOPIC, _PARTITION, build_batch(records))


def create(cluster: Cluster) -> None:
    """Create the topic if it does not exist."""
    create_compacted_topic(cluster, TOPIC)


def committed(batches: Iterable[Batch]) -> Iterator[Record]:
    """Committed records, in the order in which they became visible."""
    pending: dict[int, list[Record]] = {}
    for batch in batches:
        producer = batch.header.producer_id
        if batch.header.is_control:
            marker = read_marker(batch)
            records = pending.pop(producer, [])
            if marker is not None and marker.commit:
                yield from records
            continue
        found = decode_records(batch, max_bytes=_BATCH_BYTES_MAX)
        if batch.header.is_transactional:
            pending.setdefault(producer, []).extend(found)
        else:
            yield from found
