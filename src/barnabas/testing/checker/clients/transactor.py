"""Writes to several partitions in transactions, and aborts some of them."""

from barnabas.testing.checker.clients.session import Session, report
from barnabas.testing.checker.clients.transacting import Abandon, Failed, Transactions, make_transactions

ABORTS_OF_TEN = 2
HESITATES_OF_TEN = 2
HESITATE_SECONDS_MAX = 0.3
SENDS_MAX = 4
VALUES_MAX = 5
REST_SECONDS_MAX = 0.05


def run(session: Session) -> None:
    """Ends when its producer fails for good; another client replaces it."""
    transactions = make_transactions(session)
    session.introduce(transactional_id=transactions.transactional_id)
    try:
        transactions.start()
        while not session.stopping.wait(session.rng.uniform(0, REST_SECONDS_MAX)):
            _one(session, transactions)
    except Abandon as failure:
        report(f"ends: {failure!r} {failure.__cause__ or ''}")


def _one(session: Session, transactions: Transactions) -> None:
    transactions.begin()
    try:
        for _ in range(session.rng.randint(1, SENDS_MAX)):
            topic, index = session.rng.choice(session.partitions)
            transactions.send(topic, index, [session.new_value() for _ in range(session.rng.randint(1, VALUES_MAX))])
    except Failed as failure:
        transactions.give_up(failure)
        return
    if session.rng.randrange(10) < ABORTS_OF_TEN:
        # Some values are in flight, some are in the log: the abort must cover them all.
        transactions.flush(session.rng.choice((0.0, 0.01, 1.0)))
        transactions.abort()
        return
    if session.rng.randrange(10) < HESITATES_OF_TEN:
        # Everything is in the log, but not committed, while others continue.
        transactions.flush(1.0)
        session.stopping.wait(session.rng.uniform(0, HESITATE_SECONDS_MAX))
    transactions.commit()
