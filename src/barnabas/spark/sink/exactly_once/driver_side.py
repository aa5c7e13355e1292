"""The driver's part, once per batch: decide, end the tasks' transactions, mend what was aborted, sweep.

    take over      the driver's id: an older driver of the query is fenced, and what it had begun is over
    look           for the last decision; only the owner of the id may trust in what it sees
    decide         its records and the pointer to them in one transaction: from here on the batch exists
    end            every task's transaction is committed; where that is refused, the log says how it ended
    roll forward   what was aborted is copied, together with a record that says so, in one transaction
    sweep          what other attempts have left open is aborted

A driver that comes back runs the same for the same batch. It finds the decision, forgets what its own tasks may have
written, and goes on with "end". Every step may be done twice, so it may die anywhere.
"""

from collections.abc import Sequence
from typing import Final

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.client.transaction import Transactions
from barnabas.client.transaction_listing import wait_until_visible
from barnabas.client.transaction_writer import TransactionWriter
from barnabas.spark.sink.exactly_once import steps
from barnabas.spark.sink.exactly_once.decision_log import DecisionLog
from barnabas.spark.sink.exactly_once.entries import Decision, LastDecision, TaskEntry
from barnabas.spark.sink.exactly_once.errors import DecisionLost, OlderThanDecided
from barnabas.spark.sink.exactly_once.names import DECISIONS_TOPIC, Names
from barnabas.spark.sink.exactly_once.outcome import Outcome, read_outcome
from barnabas.spark.sink.exactly_once.roll_forward import roll_forward
from barnabas.spark.sink.exactly_once.sweep import sweep
from barnabas.spark.sink.exactly_once.task_side import TaskReport
from barnabas.wire.errors import ErrorCode

_OVER: Final = frozenset(
    {
        ErrorCode.invalid_producer_epoch,
        ErrorCode.invalid_producer_id_mapping,
        ErrorCode.invalid_txn_state,
        ErrorCode.producer_fenced,
        ErrorCode.transactional_id_not_found,
    }
)
"""The coordinator does not know this transaction as an open one: it has ended, one way or the other."""


_VISIBLE_WITHIN_S: Final = 5.0
"""How long to wait for markers. Nothing depends on it but that a reader who comes right after the batch sees it."""


class DriverSide:
    def __init__(
        self,
        cluster: Cluster,
        names: Names,
        *,
        timeout_ms: int,
        is_replayable: bool = True,
        hook: steps.Hook = steps.no_hook,
    ) -> None:
        """`is_replayable`: the batch may have been decided before; not so for a batch write, which has its own id."""
        self._cluster = cluster
        self._names = names
        self._timeout_ms = timeout_ms
        self._is_replayable = is_replayable
        self._hook = hook
        self._transactions = Transactions(cluster)
        self._log = DecisionLog(cluster, names)

    def commit(self, batch_id: int, reports: Sequence[TaskReport]) -> None:
        """When this returns, the batch is decided and visible; or about to be visible, where brokers are slow."""
        self._hook(steps.DRIVER_BEGUN)
        entries = tuple(report.entry for report in reports if report.entry is not None)
        is_known = any(report.is_decided for report in reports)
        if not entries and not self._is_replayable:
            self._hook(steps.DRIVER_ENDED)
            return
        writer = self._take_over()
        last = self._log.last() if self._is_replayable else None
        self._hook(steps.DRIVER_LOOKED)
        decision = Decision(batch_id, entries)
        touched = {self._names.driver}
        if last is None or last.batch_id < batch_id:
            if is_known:
                raise self._lost(batch_id)
            # Without rows there is nothing to decide; but a query's first batch leaves a pointer, for the next to find.
            if entries or last is None:
                touched |= self._finish(writer, self._decide(writer, decision), decision)
        elif last.batch_id > batch_id:
            raise self._older(batch_id, last)
        elif not last.is_done:
            touched |= self._finish(writer, last, self._log.read(last))
        self._hook(steps.SWEEPING)
        touched |= sweep(self._cluster, self._transactions, self._names, timeout_ms=self._timeout_ms)
        wait_until_visible(self._cluster, touched, limit_s=_VISIBLE_WITHIN_S)
        if not self._is_replayable:
            self._log.forget(writer, decision)
        self._hook(steps.DRIVER_ENDED)

    def abort(self, batch_id: int) -> None:
        """The batch failed. Unless it is decided: then its transactions are left alone, and a restart finishes it.

        Spark also calls this when `commit` has failed, and that may have decided or not: who takes over the driver's
        id knows.
        """
        self._hook(steps.ABORT_BEGUN)
        self._take_over()
        last = self._log.last()
        if last is None or last.batch_id < batch_id:
            sweep(self._cluster, self._transactions, self._names, timeout_ms=self._timeout_ms)
        self._hook(steps.ABORT_ENDED)

    def _take_over(self) -> TransactionWriter:
        producer = self._transactions.take_over(self._names.driver, timeout_ms=self._timeout_ms)
        writer = TransactionWriter(self._cluster, self._transactions, producer)
        self._hook(steps.DRIVER_TOOK_OVER)
        return writer

    def _decide(self, writer: TransactionWriter, decision: Decision) -> LastDecision:
        last = self._log.write(writer, decision)
        self._hook(steps.DECISION_WRITTEN)
        if self._is_replayable:
            self._log.point(writer, last)
        self._hook(steps.POINTER_WRITTEN)
        writer.commit()
        self._hook(steps.DECIDED)
        return last

    def _finish(self, writer: TransactionWriter, last: LastDecision, decision: Decision) -> set[str]:
        """The ids of its transactions, which are over now, or are being completed."""
        codes = self._transactions.commit_all([entry.producer for entry in decision.entries])
        self._hook(steps.TASKS_ENDED)
        over: list[TaskEntry] = []
        for entry, code in zip(decision.entries, codes, strict=True):
            if code in _OVER:
                over.append(entry)
            elif code != ErrorCode.none:
                raise Refused(
                    code,
                    f"batch {decision.batch_id} is decided, but the transaction {entry.transactional_id} cannot be "
                    f"ended: {code.name.upper()}",
                    "start the query again: it goes on from here",
                )
        if over:
            aborted = [entry for entry in over if read_outcome(self._cluster, entry) is Outcome.ABORTED]
            self._hook(steps.OUTCOME_READ)
            if aborted:
                roll_forward(self._cluster, writer, self._log, last, aborted, self._hook)
        return {entry.transactional_id for entry in decision.entries}

    def _lost(self, batch_id: int) -> DecisionLost:
        return DecisionLost(
            f"Tasks of batch {batch_id} of {self._names.base} found it decided and wrote nothing, but there is no "
            "decision about it.",
            f"was the topic {DECISIONS_TOPIC} or the group {self._names.group} deleted just now? start the query again",
        )

    def _older(self, batch_id: int, last: LastDecision) -> OlderThanDecided:
        return OlderThanDecided(
            f"Spark runs batch {batch_id} of {self._names.base}, but batch {last.batch_id} was already written by the "
            "same query. Its checkpoint is older than its output, or another driver runs the same query.",
            "stop the other driver, or restore the checkpoint's latest state; to write everything again, use a new one",
        )
