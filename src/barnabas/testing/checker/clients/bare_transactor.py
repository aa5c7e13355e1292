"""As the transactor, with a producer that knows transaction.version 2."""

from typing import Final

from barnabas.testing.checker.clients.bare_producer import BareProducer, Refused
from barnabas.testing.checker.clients.session import Session, complain, partition_name
from barnabas.testing.checker.clients.transacting import TRANSACTION_TIMEOUT_MS
from barnabas.testing.checker.clients.transactor import (
    ABORTS_OF_TEN,
    HESITATE_SECONDS_MAX,
    HESITATES_OF_TEN,
    REST_SECONDS_MAX,
    SENDS_MAX,
    VALUES_MAX,
)
from barnabas.testing.checker.events import Ack, Begin, Committing, End, Outcome, Send


class BareTransactor:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._transactional_id: Final[str] = session.spec.settings["transactional_id"]
        self._producer = BareProducer(session, self._transactional_id, TRANSACTION_TIMEOUT_MS)
        self._count = 0
        session.introduce(transactional_id=self._transactional_id)

    def run(self) -> None:
        session = self._session
        self._producer.start()
        while not session.stopping.wait(session.rng.uniform(0, REST_SECONDS_MAX)):
            self._count += 1
            txn = f"{session.name}:t{self._count}"
            session.note(Begin(t=session.now(), p=session.name, txn=txn, transactional_id=self._transactional_id))
            outcome: Outcome = "unknown"
            try:
                outcome = self._one(txn)
            finally:
                session.note(End(t=session.now(), p=session.name, txn=txn, outcome=outcome))

    def _one(self, txn: str) -> Outcome:
        session, rng = self._session, self._session.rng
        try:
            for _ in range(rng.randint(1, SENDS_MAX)):
                self._send(txn)
        except Refused as refused:
            complain(f"{txn}: {refused}")
            if not refused.can_abort:
                raise
            self._producer.end(commit=False)
            return "abort"
        if rng.randrange(10) < ABORTS_OF_TEN:
            self._producer.end(commit=False)
            return "abort"
        if rng.randrange(10) < HESITATES_OF_TEN:
            session.stopping.wait(rng.uniform(0, HESITATE_SECONDS_MAX))
        session.note(Committing(t=session.now(), p=session.name, txn=txn))
        self._producer.end(commit=True)
        return "commit"

    def _send(self, txn: str) -> None:
        session = self._session
        topic, index = session.rng.choice(session.partitions)
        values = [session.new_value() for _ in range(session.rng.randint(1, VALUES_MAX))]
        partition = partition_name(topic, index)
        session.note(Send(t=session.now(), p=session.name, partition=partition, values=values, txn=txn))
        base_offset = self._producer.produce(topic, index, values)
        acks = [(value, base_offset + place if base_offset >= 0 else -1) for place, value in enumerate(values)]
        session.note(Ack(t=session.now(), p=session.name, partition=partition, acks=acks))


def run(session: Session) -> None:
    """Ends when its producer can do no more; another takes its place then."""
    try:
        BareTransactor(session).run()
    except Refused as refused:
        complain(f"ends: {refused}")
