"""Transactions of our own producer (transaction.version 2), recorded like those of librdkafka's producer."""

from barnabas.testing.checker.clients.bare_producer import BareProducer, Refused
from barnabas.testing.checker.clients.session import Session, partition_name, report
from barnabas.testing.checker.clients.transacting import TRANSACTION_TIMEOUT_MS, Abandon, Failed
from barnabas.testing.checker.events import Ack, Begin, Committing, End, Outcome, Send


class BareTransactions:
    def __init__(self, session: Session) -> None:
        self.transactional_id: str = session.spec.settings["transactional_id"]
        self._session = session
        self._producer = BareProducer(session, self.transactional_id, TRANSACTION_TIMEOUT_MS)
        self._count = 0
        self._txn = ""

    def start(self) -> None:
        try:
            self._producer.start()
        except Refused as refused:
            raise Abandon(str(refused)) from refused

    def begin(self) -> str:
        self._count += 1
        session = self._session
        self._txn = f"{session.name}:t{self._count}"
        session.note(Begin(t=session.now(), p=session.name, txn=self._txn, transactional_id=self.transactional_id))
        return self._txn

    def send(self, topic: str, index: int, values: list[str]) -> None:
        session = self._session
        partition = partition_name(topic, index)
        session.note(Send(t=session.now(), p=session.name, partition=partition, values=values, txn=self._txn))
        try:
            base_offset = self._producer.produce(topic, index, values)
        except Refused as refused:
            raise Failed(refused, can_abort=refused.can_abort) from refused
        acks = [(value, base_offset + place if base_offset >= 0 else -1) for place, value in enumerate(values)]
        session.note(Ack(t=session.now(), p=session.name, partition=partition, acks=acks))

    def flush(self, seconds: float) -> None:
        """Nothing to do: every send waits for its answer."""

    def commit(self) -> bool:
        self._session.note(Committing(t=self._session.now(), p=self._session.name, txn=self._txn))
        self._finish(commit=True)
        return True

    def abort(self) -> None:
        self._finish(commit=False)

    def give_up(self, failure: Failed) -> None:
        report(f"in {self._txn}: {failure}")
        if not failure.can_abort:
            self._end("unknown", str(failure))
            raise Abandon from failure
        self.abort()

    def _finish(self, *, commit: bool) -> None:
        try:
            self._producer.end(commit=commit)
        except Refused as refused:
            self._end("unknown", str(refused))
            raise Abandon from refused
        self._end("commit" if commit else "abort")

    def _end(self, outcome: Outcome, error: str = "") -> None:
        session = self._session
        session.note(End(t=session.now(), p=session.name, txn=self._txn, outcome=outcome, error=error))
