"""How rows reach the log: the seam between what a write is (rows, partitions, batches) and what it promises.

A writer encodes rows and hands them to a `Producer`; which producer that is, what a task says when its rows are
written, and what the driver does when all tasks are done, is a `Delivery`'s to decide. One is made with each writer,
on the driver. It is pickled to every task, and again to the process in which the driver commits: what it knows when it
is made, all of these know.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pyspark.sql.datasource import WriterCommitMessage

from barnabas.client.cluster import Cluster
from barnabas.client.producer import Producer
from barnabas.client.producer_settings import ProducerSettings

if TYPE_CHECKING:
    from barnabas.spark.options.sink import SinkOptions

WriteRows = Callable[[Producer], int]
"""Writes all rows of the task with this producer, without waiting for the last acknowledgements; returns how many."""


class Delivery(Protocol):
    def write(self, cluster: Cluster, settings: ProducerSettings, write_rows: WriteRows) -> WriterCommitMessage:
        """In a task: have the rows written by a producer of this delivery's choice, or decide that they already are.

        The rows can be had once only. What is returned goes to `commit` or `abort` of the driver.
        """
        ...

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None) -> None:
        """On the driver, after all tasks have succeeded. `batch_id` of a stream; None: a batch write."""
        ...

    def abort(self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None) -> None:
        """On the driver, after a task has failed for good; None where a task has said nothing."""
        ...


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """All rows of a task are acknowledged."""

    rows: int


class AtLeastOnce:
    """Rows are there when the task ends. A task that is repeated writes its rows again."""

    def write(self, cluster: Cluster, settings: ProducerSettings, write_rows: WriteRows) -> WriterCommitMessage:
        with Producer(cluster, settings=settings) as producer:
            return Written(write_rows(producer))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None) -> None:
        """Nothing is left to do: every task has waited for its acknowledgements."""

    def abort(self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None) -> None:
        """Nothing can be taken back: rows of tasks that succeeded stay, as with Spark's own connector."""


def delivery_for(options: "SinkOptions", *, streaming: bool) -> Delivery:
    if options.exactly_once:
        from barnabas.spark.sink.exactly_once import exactly_once_delivery

        return exactly_once_delivery(options, streaming=streaming)
    return AtLeastOnce()
