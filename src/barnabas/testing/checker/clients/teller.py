"""Moves money between its accounts, which are in different partitions, in transactions.

It has no memory: when it starts, it fences its predecessor, reads the committed balances, and continues. If a part of a
transaction is missing then, or a part of an aborted one is visible, the total is wrong from there on.
"""

import time

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from barnabas.testing.checker.bank import Entry
from barnabas.testing.checker.bank_accounts import OPENING_BALANCE, accounts
from barnabas.testing.checker.clients.reader import records_of
from barnabas.testing.checker.clients.session import Session, partition_name, report
from barnabas.testing.checker.clients.transacting import CALL_SECONDS_MAX, Abandon, Failed, make_transactions
from barnabas.testing.checker.events import Assign, Isolation, Poll

TRANSFERS_PER_LIFE_MAX = 1_000_000
ABORTS_OF_TEN = 1
REST_SECONDS_MAX = 0.03


class Teller:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._transactions = make_transactions(session)
        self._name = session.spec.place
        (self._topic,) = session.spec.topics
        self._partition_of = accounts()
        self._number = session.spec.incarnation * TRANSFERS_PER_LIFE_MAX
        session.introduce(transactional_id=self._transactions.transactional_id)

    def run(self) -> None:
        session = self._session
        self._transactions.start()
        balances = self._read_balances()
        if not balances:
            opening = dict.fromkeys(self._partition_of, OPENING_BALANCE)
            balances = opening if self._write(opening, abort=False) else {}
        while balances and not session.stopping.wait(session.rng.uniform(0, REST_SECONDS_MAX)):
            payer, payee = self._choose_two()
            amount = session.rng.randint(1, 20)
            change = {payer: balances[payer] - amount, payee: balances[payee] + amount}
            if self._write(change, abort=session.rng.randrange(10) < ABORTS_OF_TEN):
                balances.update(change)

    def _choose_two(self) -> tuple[str, str]:
        """Two accounts in different partitions."""
        payer = self._session.rng.choice(list(self._partition_of))
        others = [each for each, index in self._partition_of.items() if index != self._partition_of[payer]]
        return payer, self._session.rng.choice(others)

    def _write(self, balances: dict[str, int], *, abort: bool) -> bool:
        """Whether it is committed."""
        self._number += 1
        self._transactions.begin()
        try:
            for account, balance in balances.items():
                value = str(Entry(self._name, self._number, account, balance))
                self._transactions.send(self._topic, self._partition_of[account], [value])
        except Failed as failure:
            self._transactions.give_up(failure)
            return False
        if abort:
            self._transactions.flush(0.01)
            self._transactions.abort()
            return False
        return self._transactions.commit()

    def _read_balances(self) -> dict[str, int]:
        """The last committed balance of each account of this teller."""
        session = self._session
        places = session.partitions
        # Up to the high watermark: another open transaction may delay our own committed records.
        ends = self._high_watermarks()
        consumer = self._consumer("read_committed")
        balances: dict[str, int] = {}
        positions = {partition_name(*place): 0 for place in places}
        session.note(Assign(t=session.now(), p=session.name, positions=positions))
        try:
            consumer.assign([TopicPartition(*place, 0) for place in places])
            reached = dict.fromkeys(places, 0)
            deadline = time.monotonic() + CALL_SECONDS_MAX
            while any(reached[place] < ends[place] for place in places):
                if time.monotonic() > deadline:
                    raise Abandon(f"cannot read what is committed: {reached} of {ends}")
                messages = consumer.consume(1000, timeout=0.2)
                for message in messages:
                    place = (message.topic(), message.partition())
                    error = message.error()
                    if error is None:
                        reached[place] = message.offset() + 1
                        entry = Entry.parse(message.value().decode())
                        if entry.teller == self._name:
                            balances[entry.account] = entry.balance
                    elif error.code() == KafkaError._PARTITION_EOF:
                        reached[place] = max(reached[place], message.offset())
                records = records_of([each for each in messages if each.error() is None])
                if records:
                    session.note(Poll(t=session.now(), p=session.name, records=records))
        finally:
            consumer.close()
        return balances

    def _high_watermarks(self) -> dict[tuple[str, int], int]:
        consumer = self._consumer("read_uncommitted")
        try:
            return {
                place: consumer.get_watermark_offsets(TopicPartition(*place), CALL_SECONDS_MAX)[1]
                for place in self._session.partitions
            }
        finally:
            consumer.close()

    def _consumer(self, isolation: Isolation) -> Consumer:
        return Consumer(
            self._session.config(
                group_id=f"no-group-{self._session.name}",
                enable_auto_commit=False,
                isolation_level=isolation,
                enable_partition_eof=True,
                auto_offset_reset="error",
            )
        )


def run(session: Session) -> None:
    """Ends when its producer fails for good; another client replaces it."""
    try:
        Teller(session).run()
    except (Abandon, KafkaException) as failure:
        report(f"ends: {failure!r} {failure.__cause__ or ''}")
