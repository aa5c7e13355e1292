"""A task attempt: take over its id, write everything, leave the transaction open, tell what was written.

It looks first whether the batch is decided: after a restart Spark runs the last batch again, and then there is nothing
to write. That look may err, and must only save work: a decision that the pointer does not show yet is found by the
driver, which then forgets what this attempt wrote. An attempt without rows needs no transaction.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol, TypeVar

from barnabas.client.cluster import Cluster
from barnabas.client.transaction import OpenTransaction, ProducerIdentity, Transactions
from barnabas.spark.sink.exactly_once.decision_log import DecisionLog
from barnabas.spark.sink.exactly_once.entries import TaskEntry, WrittenRange
from barnabas.spark.sink.exactly_once.names import Names
from barnabas.spark.sink.exactly_once.steps import (
    TASK_BEGUN,
    TASK_FLUSHED,
    TASK_LOOKED,
    TASK_TOOK_OVER,
    TASK_WRITING,
    Hook,
)

Rows = TypeVar("Rows", contravariant=True)
T = TypeVar("T")


class Place(NamedTuple):
    """What lies in a partition: the first and last offset, and how many records."""

    first_offset: int
    last_offset: int
    record_count: int


class RowWriter(Protocol[Rows]):
    """Writes rows as one producer, in its transaction."""

    def write(self, rows: Rows) -> None: ...

    def flush(self) -> Mapping[tuple[str, int], Place]:
        """Wait for every acknowledgement; all that was ever written, by topic and partition."""
        ...


class Attempt(NamedTuple):
    names: Names
    batch_id: int
    partition_id: int
    attempt_number: int
    is_replayable: bool = True
    """Whether the batch may have been decided before this driver began."""


class TaskReport(NamedTuple):
    """For the driver. One attempt of each task gets through to it."""

    base: str
    batch_id: int
    is_decided: bool
    """The batch was decided before; nothing was written."""
    entry: TaskEntry | None
    """None where nothing was written."""


def run_attempt(
    cluster: Cluster,
    attempt: Attempt,
    batches: Iterable[T],
    open_writer: Callable[[OpenTransaction, Transactions], RowWriter[T]],
    *,
    timeout_ms: int,
    hook: Hook,
) -> TaskReport:
    names, batch_id = attempt.names, attempt.batch_id
    hook(TASK_BEGUN)
    last = DecisionLog(cluster, names).peek() if attempt.is_replayable else None
    hook(TASK_LOOKED)
    if last is not None and last.batch_id >= batch_id:
        return TaskReport(names.base, batch_id, is_decided=True, entry=None)
    transactions = Transactions(cluster)
    transactional_id = names.task(attempt.partition_id, attempt.attempt_number)
    writer: RowWriter[T] | None = None
    producer: ProducerIdentity | None = None
    for rows in batches:
        if writer is None:
            producer = transactions.take_over(transactional_id, timeout_ms=timeout_ms)
            hook(TASK_TOOK_OVER)
            writer = open_writer(OpenTransaction(transactional_id, producer), transactions)
        writer.write(rows)
        hook(TASK_WRITING)
    if writer is None or producer is None:
        return TaskReport(names.base, batch_id, is_decided=False, entry=None)
    written = writer.flush()
    hook(TASK_FLUSHED)
    if not written:
        return TaskReport(names.base, batch_id, is_decided=False, entry=None)
    entry = TaskEntry(
        transactional_id,
        producer.producer_id,
        producer.producer_epoch,
        producer.producer_epoch + 1 if transactions.bumps_epochs else producer.producer_epoch,
        tuple(WrittenRange(*where, *place) for where, place in sorted(written.items())),
    )
    return TaskReport(names.base, batch_id, is_decided=False, entry=entry)
