"""How a transaction ended, read from the log itself: the first marker of its producer after its last record.

The coordinator forgets it when the id is used again or expires. The log does not: a partition that was written to in
a transaction gets a marker before any other record of that producer. That may take a moment, so the reader waits.
"""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from barnabas.client.cluster import Cluster
from barnabas.client.transaction_log import OffsetsGone, log_bounds, read_log
from barnabas.records.batch import Batch
from barnabas.records.control import read_marker
from barnabas.spark.sink.exactly_once.entries import TaskEntry, WrittenRange
from barnabas.spark.sink.exactly_once.errors import OutcomeUnclear


class Outcome(Enum):
    COMMITTED = "committed"
    ABORTED = "aborted"
    GONE = "gone"
    """Retention has removed everything that was written, as it would have removed committed records."""


class Marker(NamedTuple):
    commit: bool
    producer_epoch: int


def first_marker(batches: Iterable[Batch], *, producer_id: int, after_offset: int) -> Marker | None:
    for batch in batches:
        header = batch.header
        if header.producer_id != producer_id or not header.is_control or header.base_offset <= after_offset:
            continue
        marker = read_marker(batch)
        if marker is not None:
            return Marker(marker.commit, header.producer_epoch)
    return None


def judged(entry: TaskEntry, marker: Marker) -> Outcome:
    """An abort has one of the later epochs, depending on who made it. A commit has the epoch that we gave it.

    A commit with another epoch belongs to a later transaction of the same id, so compaction has removed the marker
    that we look for.
    """
    if not marker.commit:
        return Outcome.ABORTED
    if marker.producer_epoch == entry.commit_epoch:
        return Outcome.COMMITTED
    raise _unclear(entry, "its marker was removed by compaction")


def read_outcome(cluster: Cluster, entry: TaskEntry) -> Outcome:
    """The outcome of a transaction that has ended, as its coordinator said. Waits until the marker is in the log."""
    retry = cluster.retry_policy()
    while True:
        removed = 0
        for written in entry.ranges:
            marker, is_removed = _marker_in(cluster, entry, written)
            if marker is not None:
                return judged(entry, marker)
            removed += is_removed
        if removed == len(entry.ranges):
            return Outcome.GONE
        if not retry.wait():
            raise _unclear(entry, "no marker was written in time")


def _marker_in(cluster: Cluster, entry: TaskEntry, written: WrittenRange) -> tuple[Marker | None, bool]:
    """And whether retention has removed the offsets where it would be."""
    topic, partition, last_offset = written.topic, written.partition, written.last_offset
    try:
        batches = read_log(cluster, topic, partition, start=last_offset + 1)
        return first_marker(batches, producer_id=entry.producer_id, after_offset=last_offset), False
    except OffsetsGone:
        start, _ = log_bounds(cluster, topic, partition)
        return None, start > last_offset + 1


def _unclear(entry: TaskEntry, why: str) -> OutcomeUnclear:
    places = ", ".join(f"{each.topic}-{each.partition} after offset {each.last_offset}" for each in entry.ranges[:3])
    return OutcomeUnclear(
        f"A batch is decided, but it is unknown whether the transaction {entry.transactional_id} of producer "
        f"{entry.producer_id} (epoch {entry.producer_epoch}) was committed: {why}.",
        f"look with kafka-dump-log at {places}; when all brokers are up again, restart the query",
    )
