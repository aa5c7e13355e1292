"""The driver's part, once per batch: decide, end the tasks' transactions, copy what was aborted, sweep.

    take over      the driver's id: an older driver of the query is fenced, and its transactions have ended
    look           for the last decision; only the owner of the id can rely on what it reads
    decide         write the decision and the pointer to it in one transaction: from here on the batch is decided
    end            commit every task's transaction; where that is refused, the log shows how it ended
    roll forward   copy the records of aborted transactions, and record that, in one transaction
    sweep          abort transactions that other attempts left open

After a restart, the driver runs the same steps for the same batch. It finds the decision, ignores what its own tasks
may have written, and continues with "end". Every step can be repeated, so the driver may die at any point.
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
"""To the coordinator, this transaction is not open: it was committed or aborted."""


_VISIBLE_WITHIN_S: Final = 5.0
"""How long to wait for markers, so that a reader right after the batch sees it. Nothing else depends on it."""


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
        """`is_replayable`: the batch may have been decided before; False for a batch write, which has its own id."""
        self._cluster = cluster
        self._names = names
        self._timeout_ms = timeout_ms
        self._is_replayable = is_replayable
        self._hook = hook
        self._transactions = Transactions(cluster)
        self._log = DecisionLog(cluster, names)

    def commit(self, batch_id: int, reports: Sequence[TaskReport]) -> None:
        """When this returns, the batch is decided and visible, or soon visible if brokers are slow."""
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
            # Without rows there is nothing to decide; but a query's first batch leaves a pointer for the next one.
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

        Spark also calls this when `commit` has failed, which may have decided or not. After taking over the driver's id
        that is known.
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
        """Returns the ids of its transactions, which have ended, or are being completed."""
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
                    "start the query again: it continues from here",
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
            "stop the other driver, or restore the latest checkpoint; to write everything again, use a new one",
        )
