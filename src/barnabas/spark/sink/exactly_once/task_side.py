"""A task attempt: take over its id, write everything, leave the transaction open, report what was written.

First it checks whether the batch is decided: after a restart Spark runs the last batch again, and then there is nothing
to write. This check may be wrong, and only saves work: the driver finds a decision that the pointer does not show yet,
and then ignores what this attempt wrote.
"""

from collections.abc import Callable
from typing import NamedTuple

from barnabas.client.cluster import Cluster
from barnabas.client.producer import Producer
from barnabas.client.producer_identity import ProducerIdentity
from barnabas.client.producer_settings import ProducerSettings
from barnabas.client.transaction import Transactions
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

WriteRows = Callable[[Producer], int]
"""Writes all rows of the task; returns how many."""


class Attempt(NamedTuple):
    names: Names
    batch_id: int
    partition_id: int
    attempt_number: int
    is_replayable: bool = True
    """Whether the batch may have been decided before this driver began."""


class TaskReport(NamedTuple):
    """For the driver, which gets that of one attempt of each task."""

    base: str
    batch_id: int
    is_decided: bool
    """The batch was decided before; nothing was written."""
    entry: TaskEntry | None
    """None if nothing was written."""


def run_attempt(
    cluster: Cluster,
    settings: ProducerSettings,
    attempt: Attempt,
    write_rows: WriteRows,
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
    identity = transactions.take_over(transactional_id, timeout_ms=timeout_ms)
    hook(TASK_TOOK_OVER)
    with _TaskProducer(cluster, settings, identity, transactions, hook) as producer:
        write_rows(producer)
        producer.flush()
        hook(TASK_FLUSHED)
        written = producer.written
    if not written:
        return TaskReport(names.base, batch_id, is_decided=False, entry=None)
    entry = TaskEntry(
        transactional_id,
        identity.producer_id,
        identity.epoch,
        identity.epoch + 1 if transactions.bumps_epochs else identity.epoch,
        tuple(WrittenRange(*where, *what) for where, what in sorted(written.items())),
    )
    return TaskReport(names.base, batch_id, is_decided=False, entry=entry)


class _TaskProducer(Producer):
    """Writes in the transaction that the attempt has begun, and calls the hook for each batch."""

    def __init__(
        self,
        cluster: Cluster,
        settings: ProducerSettings,
        identity: ProducerIdentity,
        transactions: Transactions,
        hook: Hook,
    ) -> None:
        adding = None if transactions.bumps_epochs else lambda places: transactions.add_partitions(identity, places)
        super().__init__(cluster, settings=settings, identity=identity, before_first_batch=adding)
        self._hook = hook

    def send(self, topic: str, partition: int, batch: bytearray | memoryview) -> None:
        super().send(topic, partition, batch)
        self._hook(TASK_WRITING)
