"""Transactions as administrators see them: list and describe."""

import datetime
from collections.abc import Collection, Iterator
from typing import NamedTuple

from barnabas.coordinator.core.regex import Regex
from barnabas.coordinator.txn.states import TransactionState as State
from barnabas.coordinator.txn.store import TransactionStore
from barnabas.coordinator.txn.stored import by_topic
from barnabas.coordinator.txn.transaction import Transaction
from barnabas.wire.errors import TransactionalIdNotFound
from barnabas.wire.messages import describe_transactions, list_transactions

_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)
_NAMES = {state.value: state for state in State}


class TransactionFilter(NamedTuple):
    """Which transactions to list: all conditions must hold; an empty condition always does."""

    states: Collection[State] | None = None
    producer_ids: Collection[int] = ()
    running_longer_than_ms: int = -1

    def matches(self, transaction: Transaction, now_ms: int) -> bool:
        if self.producer_ids and transaction.producer_id not in self.producer_ids:
            return False
        if self.states is not None and transaction.state not in self.states:
            return False
        return self.running_longer_than_ms < 0 or now_ms - transaction.start_ms > self.running_longer_than_ms


def filter_of(request: list_transactions.ListTransactionsRequest) -> tuple[TransactionFilter, list[str]]:
    """Also returns the requested states that do not exist."""
    states = None
    if request.state_filters:
        states = frozenset(_NAMES[name] for name in request.state_filters if name in _NAMES)
    chosen = TransactionFilter(states, frozenset(request.producer_id_filters), request.duration_filter)
    return chosen, [name for name in dict.fromkeys(request.state_filters) if name not in _NAMES]


def listed(
    store: TransactionStore, chosen: TransactionFilter, now_ms: int
) -> Iterator[list_transactions.TransactionState]:
    for transactional_id, transaction in store.transactions.items():
        if chosen.matches(transaction, now_ms):
            yield list_transactions.TransactionState(
                transactional_id=transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state.value,
            )


def ids_matching(pattern: str, transactional_ids: Collection[str]) -> frozenset[str]:
    """For a worker: the ids that match entirely. Raises InvalidRegularExpression if the pattern is not valid."""
    regex = Regex(pattern)
    return frozenset(each for each in transactional_ids if regex.matches(each))


def described(store: TransactionStore, transactional_id: str) -> describe_transactions.TransactionState:
    transaction = store.transactions.get(transactional_id)
    if transaction is None:
        raise TransactionalIdNotFound(f"{transactional_id} is not known")
    return describe_transactions.TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.value,
        transaction_timeout=datetime.timedelta(milliseconds=transaction.timeout_ms),
        transaction_start_time=_EPOCH + datetime.timedelta(milliseconds=transaction.start_ms),
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=tuple(
            describe_transactions.TopicData(topic=topic, partitions=partitions)
            for topic, partitions in by_topic(transaction.partitions)
        ),
    )
