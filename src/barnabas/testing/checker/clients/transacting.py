"""What clients with transactions share: begin, commit, abort, and what to make of their failures."""

from collections.abc import Callable

from confluent_kafka import KafkaException, Producer

from barnabas.testing.checker.clients.producer import Acknowledgements
from barnabas.testing.checker.clients.session import Session, complain, error_of, partition_name
from barnabas.testing.checker.events import Begin, Committing, End, Outcome, Send

TRANSACTION_TIMEOUT_MS = 6000
CALL_SECONDS_MAX = 30.0


class Abandon(Exception):
    """This producer can do no more: it was fenced, or nobody knows what became of its transaction."""


class Transactions:
    """One transactional producer, one transaction after another, all of it noted."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.transactional_id: str = session.spec.settings["transactional_id"]
        self.producer = Producer(
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
        """Fence those before us, and let their transactions be over."""
        self._insist(lambda: self.producer.init_transactions(CALL_SECONDS_MAX))

    def begin(self) -> str:
        self._count += 1
        self._txn = f"{self.session.name}:t{self._count}"
        session = self.session
        session.note(Begin(t=session.now(), p=session.name, txn=self._txn, transactional_id=self.transactional_id))
        self.producer.begin_transaction()
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
        for value in values:
            self.producer.produce(topic, value, partition=index, on_delivery=self._acknowledgements.delivered)
        self.producer.poll(0)

    def commit(self) -> bool:
        """Whether it is committed; False: it is aborted. Raises Abandon."""
        session = self.session
        session.note(Committing(t=session.now(), p=session.name, txn=self._txn))
        try:
            self._insist(lambda: self.producer.commit_transaction(CALL_SECONDS_MAX))
        except KafkaException as failure:
            complain(f"commit of {self._txn}: {failure}")
            if error_of(failure).txn_requires_abort():
                self.abort()
                return False
            self._end("unknown", failure)
            raise Abandon from failure
        self._end("commit")
        return True

    def abort(self) -> None:
        try:
            self._insist(lambda: self.producer.abort_transaction(CALL_SECONDS_MAX))
        except KafkaException as failure:
            complain(f"abort of {self._txn}: {failure}")
            self._end("unknown", failure)
            raise Abandon from failure
        self._end("abort")

    def give_up(self, failure: KafkaException) -> None:
        """Something within the transaction went wrong: abort it if that can be. Raises Abandon if not."""
        complain(f"in {self._txn}: {failure}")
        error = error_of(failure)
        if error.fatal():
            self._end("unknown", failure)
            raise Abandon from failure
        self.abort()

    def _insist(self, call: Callable[[], None]) -> None:
        """Until it worked or failed for good: what is retriable may be called again."""
        while True:
            try:
                call()
            except KafkaException as failure:
                if not error_of(failure).retriable() or self.session.stopping.is_set():
                    raise
                complain(f"again: {failure}")
            else:
                return

    def _end(self, outcome: Outcome, failure: KafkaException | None = None) -> None:
        self._acknowledgements.note()
        session = self.session
        error = error_of(failure).name() if failure is not None else ""
        session.note(End(t=session.now(), p=session.name, txn=self._txn, outcome=outcome, error=error))
