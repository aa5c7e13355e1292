"""How rows are delivered: separates the writing of rows from its guarantee.

A writer encodes rows and passes them to a `Producer`. A `Delivery` decides which producer that is, what a task reports
when its rows are written, and what the driver does when all tasks are done. Each writer creates one on the driver. It
is pickled to every task, and to the process in which the driver commits, so all of them know what it knew then.
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
        """In a task: write the rows with a producer of this delivery's choice, unless they are already written.

        The rows can be read only once. The result goes to `commit` or `abort` on the driver.
        """
        ...

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None) -> None:
        """On the driver, after all tasks have succeeded. `batch_id` of a stream; None: a batch write."""
        ...

    def abort(self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None) -> None:
        """On the driver, after a task has failed for good; None for tasks without a message."""
        ...


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """All rows of a task are acknowledged."""

    rows: int


class AtLeastOnce:
    """Rows are visible when the task ends. A task that is repeated writes its rows again."""

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
