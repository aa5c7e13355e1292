"""EndTxn: commit or abort.

Up to transaction.version 1 the same request may come again in the same epoch, and is answered by the state:

    Ongoing                       decided: Prepare is stored, markers follow
    CompleteCommit, CompleteAbort the same outcome again is success, the other INVALID_TXN_STATE
    Empty                         INVALID_TXN_STATE

From version 2 on the producer moves to its next epoch with every end. So the epoch tells a request from its repetition:
a request has the epoch of the open transaction, a repeated one has the epoch before (or the last epoch of the previous
producer id, where epochs were used up). Aborting a transaction without writes is allowed: a client whose first write
failed can't know whether it began one.
"""

from typing import NamedTuple

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.txn.add_partitions import of_producer, still_completing
from barnabas.coordinator.txn.completion import completed, prepare, prepared
from barnabas.coordinator.txn.states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    COMPLETING,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from barnabas.coordinator.txn.store import TransactionStore
from barnabas.coordinator.txn.transaction import (
    EPOCH_BUMP_SINCE,
    EPOCH_MAX,
    NO_PRODUCER_ID,
    ProducerIdAndEpoch,
    Transaction,
)
from barnabas.wire.errors import InvalidProducerIdMapping, InvalidTxnState, ProducerFenced


class EndTxn(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    commit: bool
    client_version: int


Ended = Decision[ProducerIdAndEpoch]
"""Responds with the id and epoch for the next transaction."""


def decide_end_txn(store: TransactionStore, request: EndTxn, now: Now) -> Ended:
    transaction = store.transactions.get(request.transactional_id)
    if request.client_version >= EPOCH_BUMP_SINCE:
        return _end_with_epoch_bump(store, request, transaction, now)
    transaction = of_producer(request.transactional_id, transaction, request.producer_id, request.producer_epoch)
    if transaction.state in COMPLETING:
        raise still_completing(request.transactional_id)
    if transaction.state is ONGOING:
        return _decided(store, request, transaction, NO_PRODUCER_ID, now)
    if transaction.state is (COMPLETE_COMMIT if request.commit else COMPLETE_ABORT):
        return Decision(transaction.producer)
    raise _not_possible(request, transaction)


def _end_with_epoch_bump(store: TransactionStore, request: EndTxn, transaction: Transaction | None, now: Now) -> Ended:
    if transaction is None:
        raise InvalidProducerIdMapping(f"{request.transactional_id} is not known; send InitProducerId first")
    if transaction.state in COMPLETING:
        raise still_completing(request.transactional_id)
    epoch, state = transaction.producer_epoch, transaction.state
    is_ended = state in (COMPLETE_COMMIT, COMPLETE_ABORT)
    is_retry_of_last_epoch = (
        is_ended
        and transaction.previous_producer_id == request.producer_id
        and request.producer_epoch == EPOCH_MAX - 1
        and epoch == 0
    )
    is_retry = is_retry_of_last_epoch or (is_ended and request.producer_epoch + 1 == epoch)
    if transaction.producer_id != request.producer_id and not is_retry_of_last_epoch:
        raise InvalidProducerIdMapping(f"{request.producer_id} is not the producer id of {request.transactional_id}")
    if request.producer_epoch != epoch and not is_retry:
        raise ProducerFenced(f"{request.transactional_id} is at epoch {epoch}, not {request.producer_epoch}")
    if is_retry:
        if state is (COMPLETE_COMMIT if request.commit else COMPLETE_ABORT):
            return Decision(transaction.producer)
        raise _not_possible(request, transaction)
    if state is not ONGOING and request.commit:
        raise _not_possible(request, transaction)
    return _decided(store, request, transaction, store.producer_id_after(transaction), now)


def _decided(
    store: TransactionStore, request: EndTxn, transaction: Transaction, next_producer_id: int, now: Now
) -> Ended:
    outcome = prepared(
        transaction,
        PREPARE_COMMIT if request.commit else PREPARE_ABORT,
        client_version=request.client_version,
        next_producer_id=next_producer_id,
        now_ms=now.wall_ms,
    )
    decision = Decision(completed(outcome, now.wall_ms).producer)
    prepare(store, request.transactional_id, outcome, decision)
    return decision


def _not_possible(request: EndTxn, transaction: Transaction) -> InvalidTxnState:
    wanted = "commit" if request.commit else "abort"
    return InvalidTxnState(
        f"there is nothing to {wanted} for {request.transactional_id}: its state is {transaction.state.value}"
    )
