"""The exactly-once `Delivery`: what a task does, and what the driver does when all tasks are done or one has failed.

Spark tells the tasks of a stream which query and batch they belong to. The driver's process for `commit` only gets the
batch, so it takes the query from the tasks' messages. A batch write has its own id, made with the writer; or the user
gives it an id and a number, and it can be repeated like the batch of a stream.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import WriterCommitMessage

from barnabas.client.cluster import Cluster
from barnabas.client.producer_settings import ProducerSettings
from barnabas.client.settings import ClientSettings
from barnabas.spark.errors import UserError
from barnabas.spark.sink.exactly_once.driver_side import DriverSide
from barnabas.spark.sink.exactly_once.names import Names, numbered_names, query_names, run_names
from barnabas.spark.sink.exactly_once.steps import Hook, no_hook
from barnabas.spark.sink.exactly_once.task_side import Attempt, TaskReport, WriteRows, run_attempt

if TYPE_CHECKING:
    from pyspark import TaskContext

    from barnabas.spark.options.sink import SinkOptions

TIMEOUT_MS: Final = 900_000
"""The longest that brokers allow by default (transaction.max.timeout.ms)."""
_TIMEOUT_PROPERTY: Final = "transaction.timeout.ms"
_QUERY_ID: Final = "sql.streaming.queryId"
_BATCH_ID: Final = "streaming.sql.batchId"
_RUN_BATCH_ID: Final = 0


@dataclass(frozen=True)
class Reported(WriterCommitMessage):
    report: TaskReport


@dataclass(frozen=True)
class Numbered:
    """A batch write that can be repeated."""

    names: Names
    version: int


@dataclass(frozen=True)
class ExactlyOnce:
    """A `Delivery`; pickled to tasks, and to the driver's process for `commit`."""

    client: ClientSettings
    prefix: str | None
    timeout_ms: int
    run_id: str | None
    """Of a batch write; None: a stream, where the task knows query and batch, or a write with a number."""
    numbered: Numbered | None = None
    hook: Hook = no_hook
    """Called with the name of each step; for tests."""

    def write(self, cluster: Cluster, settings: ProducerSettings, write_rows: WriteRows) -> WriterCommitMessage:
        report = run_attempt(cluster, settings, self._attempt(), write_rows, timeout_ms=self.timeout_ms, hook=self.hook)
        return Reported(report)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None) -> None:
        reports = _reports(messages)
        if not reports and self.numbered is None:
            return
        with Cluster(self.client) as cluster:
            self._driver(cluster, reports).commit(self._number(batch_id), reports)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batch_id: int | None) -> None:
        """Without any message the query is unknown: the next batch aborts the open transactions."""
        reports = _reports(messages)
        if not reports and self.run_id is None and self.numbered is None:
            return
        with Cluster(self.client) as cluster:
            self._driver(cluster, reports).abort(self._number(batch_id))

    def _number(self, batch_id: int | None) -> int:
        if self.numbered is not None:
            return self.numbered.version
        return _RUN_BATCH_ID if batch_id is None else batch_id

    def _driver(self, cluster: Cluster, reports: Sequence[TaskReport]) -> DriverSide:
        return DriverSide(
            cluster,
            self._names(reports),
            timeout_ms=self.timeout_ms,
            is_replayable=self.run_id is None,
            hook=self.hook,
        )

    def _names(self, reports: Sequence[TaskReport]) -> Names:
        if self.numbered is not None:
            return self.numbered.names
        return run_names(self.prefix, self.run_id) if self.run_id is not None else Names(reports[0].base)

    def _attempt(self) -> Attempt:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            raise RuntimeError("an exactly-once write runs in a task of Spark")
        names, batch_id, is_replayable = self._written_by(context)
        return Attempt(names, batch_id, context.partitionId(), context.attemptNumber(), is_replayable)

    def _written_by(self, context: "TaskContext") -> tuple[Names, int, bool]:
        if self.numbered is not None:
            return self.numbered.names, self.numbered.version, True
        if self.run_id is not None:
            return run_names(self.prefix, self.run_id), _RUN_BATCH_ID, False
        query_id, batch_id = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_BATCH_ID)
        if not query_id or batch_id is None:
            raise UserError(
                "Spark does not tell the task which streaming query it belongs to, so it cannot write exactly once.",
                "use Apache Spark 4.0 or later, or write with exactlyOnce off",
            )
        return query_names(self.prefix, query_id), int(batch_id), True


def exactly_once_delivery(options: "SinkOptions", *, streaming: bool) -> ExactlyOnce:
    if streaming and options.numbered is not None:
        raise UserError(
            "txnAppId and txnVersion are for batch writes; a stream is identified by its checkpoint.",
            "remove them; in foreachBatch, set them on rows.write",
        )
    return ExactlyOnce(
        client=options.client(),
        prefix=options.exactly_once_id,
        timeout_ms=_timeout_ms(options.properties.get(_TIMEOUT_PROPERTY)),
        run_id=None if streaming or options.numbered is not None else uuid.uuid4().hex,
        numbered=_numbered(options),
    )


def _numbered(options: "SinkOptions") -> Numbered | None:
    write = options.numbered
    if write is None:
        return None
    return Numbered(numbered_names(options.exactly_once_id, write.app_id, options.topic), write.version)


def _timeout_ms(text: str | None) -> int:
    if text is None:
        return TIMEOUT_MS
    if not text.strip().isdecimal() or int(text) == 0:
        raise UserError(
            f"The option kafka.{_TIMEOUT_PROPERTY} is {text!r}, which is not a number of milliseconds.",
            f"write a whole number, like {TIMEOUT_MS}",
        )
    return int(text)


def _reports(messages: Sequence[WriterCommitMessage | None]) -> list[TaskReport]:
    return [message.report for message in messages if isinstance(message, Reported)]
