"""Makes a decided batch visible although some of its transactions were aborted: copies their records.

Aborted records stay in the log, at offsets that the decision names. They are copied batch by batch, unchanged, into the
same partitions, in one transaction of the driver that also records that this was done. So after a crash in between
nothing is visible, and a second attempt copies again. A copy holds one fetch in memory, whatever the size of the batch.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from barnabas.client.cluster import Cluster
from barnabas.client.transaction_log import log_bounds, read_log
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.records.batch import DELETE_HORIZON_FLAG, HEADER_SIZE, LOG_APPEND_TIME_FLAG, Batch
from barnabas.records.record import seal
from barnabas.spark.sink.exactly_once.decision_log import DecisionLog
from barnabas.spark.sink.exactly_once.entries import LastDecision, TaskEntry, WrittenRange
from barnabas.spark.sink.exactly_once.errors import RecordsGone
from barnabas.spark.sink.exactly_once.steps import COPIED, COPYING, DONE_WRITTEN, ROLLED_FORWARD, Hook

_BROKERS_FLAGS: Final = LOG_APPEND_TIME_FLAG | DELETE_HORIZON_FLAG
"""Set by brokers; a producer must not."""


def roll_forward(
    cluster: Cluster,
    writer: TransactionWriter,
    log: DecisionLog,
    last: LastDecision,
    aborted: Sequence[TaskEntry],
    hook: Hook,
) -> None:
    for entry in aborted:
        for written in entry.ranges:
            for batch in aborted_batches(cluster, entry, written):
                writer.append(written.topic, written.partition, as_produced(batch))
                hook(COPYING)
    hook(COPIED)
    log.write_done(writer, last)
    hook(DONE_WRITTEN)
    writer.commit()
    hook(ROLLED_FORWARD)


def aborted_batches(cluster: Cluster, entry: TaskEntry, written: WrittenRange) -> Iterator[Batch]:
    """Everything that the task wrote there; RecordsGone at the end if that is less than it reported."""
    log_start, log_end = log_bounds(cluster, written.topic, written.partition)
    found = 0
    if log_end <= written.last_offset:
        raise _gone(entry, written, f"it ends at offset {log_end}")
    if log_start <= written.last_offset:
        start = max(log_start, written.first_offset)
        for batch in read_log(cluster, written.topic, written.partition, start=start, end=written.last_offset + 1):
            header = batch.header
            if (header.producer_id, header.producer_epoch) == (entry.producer_id, entry.producer_epoch):
                found += header.record_count
                yield batch
    # Retention would have removed committed records, too.
    if log_start <= written.first_offset and found != written.record_count:
        raise _gone(entry, written, f"only {found} of {written.record_count} records are left of it")


def as_produced(batch: Batch) -> bytes:
    """As a producer sends it: without the fields that brokers set."""
    header = batch.header
    return seal(header._replace(attributes=header.attributes & ~_BROKERS_FLAGS), batch.data[HEADER_SIZE:])


def _gone(entry: TaskEntry, written: WrittenRange, what: str) -> RecordsGone:
    return RecordsGone(
        f"A decided batch cannot be made visible: the transaction {entry.transactional_id} was aborted, and the log no "
        f"longer has all that it wrote to {written.topic}-{written.partition} (offsets {written.first_offset} to "
        f"{written.last_offset}): {what}. Compaction removes aborted records, and deleted topics lose them.",
        "write this batch again from its source with a batch query, then start the query with a new checkpoint",
    )
