"""Transactions as administrators see them: list and describe."""

import datetime
import re
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from barnabas.coordinator.txn.states import TransactionState as State
from barnabas.coordinator.txn.store import TransactionStore
from barnabas.coordinator.txn.stored import by_topic
from barnabas.coordinator.txn.transaction import Transaction
from barnabas.wire.errors import ErrorCode, InvalidRegularExpression, TransactionalIdNotFound
from barnabas.wire.messages import describe_transactions, list_transactions

_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)
_NAMES = {state.value: state for state in State}


class TransactionFilter(NamedTuple):
    """Which transactions to list: all conditions hold, and an empty one holds for all."""

    states: Collection[State] | None = None
    producer_ids: Collection[int] = ()
    running_longer_than_ms: int = -1
    matches_id: Callable[[str], object] | None = None

    def admits(self, transactional_id: str, transaction: Transaction, now_ms: int) -> bool:
        if self.producer_ids and transaction.producer_id not in self.producer_ids:
            return False
        if self.states is not None and transaction.state not in self.states:
            return False
        if self.running_longer_than_ms >= 0 and now_ms - transaction.start_ms <= self.running_longer_than_ms:
            return False
        return self.matches_id is None or bool(self.matches_id(transactional_id))


def filter_of(request: list_transactions.ListTransactionsRequest) -> tuple[TransactionFilter, list[str]]:
    """And the states asked for that do not exist."""
    states = None
    if request.state_filters:
        states = frozenset(_NAMES[name] for name in request.state_filters if name in _NAMES)
    matches_id = None
    if request.transactional_id_pattern:
        try:
            matches_id = re.compile(request.transactional_id_pattern).fullmatch
        except (re.error, RecursionError, OverflowError) as error:
            raise InvalidRegularExpression(
                f"the pattern {request.transactional_id_pattern} is not a regular expression: {error}"
            ) from error
    chosen = TransactionFilter(states, frozenset(request.producer_id_filters), request.duration_filter, matches_id)
    return chosen, [name for name in dict.fromkeys(request.state_filters) if name not in _NAMES]


def listed(
    store: TransactionStore, chosen: TransactionFilter, now_ms: int
) -> Iterator[list_transactions.TransactionState]:
    for transactional_id, transaction in store.transactions.items():
        if chosen.admits(transactional_id, transaction, now_ms):
            yield list_transactions.TransactionState(
                transactional_id=transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state.value,
            )


def described(store: TransactionStore, transactional_id: str) -> describe_transactions.TransactionState:
    transaction = store.transactions.get(transactional_id)
    if transaction is None:
        return undescribed(transactional_id, TransactionalIdNotFound.code)
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


def undescribed(transactional_id: str, code: ErrorCode) -> describe_transactions.TransactionState:
    return describe_transactions.TransactionState(
        transactional_id=transactional_id, error_code=code, transaction_start_time=_EPOCH
    )
