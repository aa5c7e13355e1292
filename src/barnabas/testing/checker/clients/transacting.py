"""Transactions for the clients: begin, commit, abort, and error handling.

There are two implementations: with librdkafka, and with our own producer for transaction.version 2
(`bare_transacting`).
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from confluent_kafka import KafkaException, Producer, TopicPartition

from barnabas.testing.checker.clients.producer import Acknowledgements
from barnabas.testing.checker.clients.session import Session, error_of, partition_name, report
from barnabas.testing.checker.events import Begin, Committing, End, Outcome, Send

TRANSACTION_TIMEOUT_MS = 6000
CALL_SECONDS_MAX = 30.0


class Abandon(Exception):
    """This producer cannot continue: it was fenced, or the outcome of its transaction is unknown."""


class Failed(Exception):
    """An operation of the transaction failed."""

    def __init__(self, what: object, *, can_abort: bool) -> None:
        super().__init__(str(what))
        self.can_abort = can_abort


class Transactions(Protocol):
    """One transactional producer, with one transaction after another; records all events."""

    transactional_id: str

    def start(self) -> None:
        """Fence earlier producers, and wait until their transactions have ended. Raises Abandon."""

    def begin(self) -> str:
        """Returns the name of the transaction. Raises Abandon."""

    def send(self, topic: str, index: int, values: list[str]) -> None:
        """Raises Failed."""

    def flush(self, seconds: float) -> None:
        """Wait for deliveries, at most this long."""

    def commit(self) -> bool:
        """Returns True if it was committed, False if it was aborted. Raises Abandon."""

    def abort(self) -> None:
        """Raises Abandon."""

    def give_up(self, failure: Failed) -> None:
        """Abort after a failure, if possible. Raises Abandon if not."""


def make_transactions(session: Session) -> Transactions:
    if session.spec.settings.get("bare"):
        from barnabas.testing.checker.clients.bare_transacting import BareTransactions

        return BareTransactions(session)
    return RdkafkaTransactions(session)


class RdkafkaTransactions:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.transactional_id: str = session.spec.settings["transactional_id"]
        self._producer = Producer(
            session.config(
                transactional_id=self.transactional_id,
                transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
                linger_ms=1,
            )
        )
        self._acknowledgements = Acknowledgements(session)
        self._count = 0
        self._txn = ""

    def start(self) -> None:
        try:
            self._with_retries(lambda: self._producer.init_transactions(CALL_SECONDS_MAX))
        except KafkaException as failure:
            raise Abandon(str(failure)) from failure

    def begin(self) -> str:
        self._count += 1
        self._txn = f"{self.session.name}:t{self._count}"
        session = self.session
        session.note(Begin(t=session.now(), p=session.name, txn=self._txn, transactional_id=self.transactional_id))
        try:
            self._producer.begin_transaction()
        except KafkaException as failure:
            self._end("unknown", failure)
            raise Abandon from failure
        return self._txn

    def send(self, topic: str, index: int, values: list[str], sources: list[str] | None = None) -> None:
        session = self.session
        partition = partition_name(topic, index)
        session.note(
            Send(
                t=session.now(),
                p=session.name,
                partition=partition,
                values=values,
                txn=self._txn,
                sources=sources or [],
            )
        )
        try:
            for value in values:
                self._producer.produce(topic, value, partition=index, on_delivery=self._acknowledgements.delivered)
        except KafkaException as failure:
            raise _failed(failure) from failure
        self._producer.poll(0)

    def flush(self, seconds: float) -> None:
        self._producer.flush(seconds)

    def send_offsets(self, positions: Sequence[TopicPartition], group_metadata: Any) -> None:
        try:
            self._producer.send_offsets_to_transaction(list(positions), group_metadata, CALL_SECONDS_MAX)
        except KafkaException as failure:
            raise _failed(failure) from failure

    def commit(self) -> bool:
        session = self.session
        session.note(Committing(t=session.now(), p=session.name, txn=self._txn))
        try:
            self._with_retries(lambda: self._producer.commit_transaction(CALL_SECONDS_MAX))
        except KafkaException as failure:
            report(f"commit of {self._txn}: {failure}")
            if error_of(failure).txn_requires_abort():
                self.abort()
                return False
            self._end("unknown", failure)
            raise Abandon from failure
        self._end("commit")
        return True

    def abort(self) -> None:
        try:
            self._with_retries(lambda: self._producer.abort_transaction(CALL_SECONDS_MAX))
        except KafkaException as failure:
            report(f"abort of {self._txn}: {failure}")
            self._end("unknown", failure)
            raise Abandon from failure
        self._end("abort")

    def give_up(self, failure: Failed) -> None:
        report(f"in {self._txn}: {failure}")
        if not failure.can_abort:
            self._end("unknown", failure)
            raise Abandon from failure
        self.abort()

    def _with_retries(self, call: Callable[[], None]) -> None:
        """Retry until it succeeds or fails for good."""
        while True:
            try:
                call()
            except KafkaException as failure:
                if not error_of(failure).retriable() or self.session.stopping.is_set():
                    raise
                report(f"again: {failure}")
            else:
                return

    def _end(self, outcome: Outcome, failure: Exception | None = None) -> None:
        self._acknowledgements.note()
        session = self.session
        error = "" if failure is None else str(failure)
        session.note(End(t=session.now(), p=session.name, txn=self._txn, outcome=outcome, error=error))


def _failed(failure: KafkaException) -> Failed:
    return Failed(failure, can_abort=not error_of(failure).fatal())
