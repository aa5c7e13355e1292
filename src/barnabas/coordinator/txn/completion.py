"""How a transaction ends: Prepare is stored, every partition gets its marker, Complete is stored.

Once Prepare is committed the outcome is final, and the shell sends the markers until all are written. After a crash
they are sent again: a second marker does no harm, since the transaction is no longer open in the partition.
"""

from typing import Any, NamedTuple

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.core.ports import EndMarker
from barnabas.coordinator.txn.states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    COMPLETING,
    IDLE,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    TransactionState,
)
from barnabas.coordinator.txn.store import TransactionStore
from barnabas.coordinator.txn.transaction import (
    EPOCH_BUMP_SINCE,
    EPOCH_MAX,
    NO_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
)
from barnabas.model import TopicPartition


class Completion(NamedTuple):
    """A transaction whose outcome is decided, for the shell to complete."""

    transactional_id: str
    marker: EndMarker
    partitions: frozenset[TopicPartition]


def prepare(store: TransactionStore, transactional_id: str, outcome: Transaction, decision: Decision[Any]) -> None:
    """Once the record is committed the outcome is final, and the shell completes the transaction."""
    decision.records.append(store.record(transactional_id, outcome))
    decision.sends.append(completion_of(store, transactional_id, outcome))


def completion_of(store: TransactionStore, transactional_id: str, prepared: Transaction) -> Completion:
    marker = EndMarker(
        prepared.producer_id,
        prepared.producer_epoch,
        store.coordinator_epoch,
        prepared.state is PREPARE_COMMIT,
        prepared.client_version,
    )
    return Completion(transactional_id, marker, prepared.partitions)


def prepared(
    transaction: Transaction,
    state: TransactionState,
    *,
    client_version: int,
    next_producer_id: int = NO_PRODUCER_ID,
    now_ms: int,
) -> Transaction:
    """Decide the outcome. With transaction.version 2 the producer moves to its next epoch."""
    epoch, last_epoch = transaction.producer_epoch, transaction.last_producer_epoch
    if client_version >= EPOCH_BUMP_SINCE:
        epoch, last_epoch = min(epoch + 1, EPOCH_MAX), epoch
    return transaction.moved_to(
        state,
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
        next_producer_id=next_producer_id,
        client_version=client_version,
        start_ms=now_ms if transaction.state in IDLE else transaction.start_ms,
        last_update_ms=now_ms,
    )


def completed(prepared: Transaction, now_ms: int) -> Transaction:
    producer = prepared.producer
    if prepared.client_version >= EPOCH_BUMP_SINCE and prepared.next_producer_id != NO_PRODUCER_ID:
        producer = producer._replace(producer_id=prepared.next_producer_id, producer_epoch=0)
    return prepared.moved_to(
        COMPLETE_COMMIT if prepared.state is PREPARE_COMMIT else COMPLETE_ABORT,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        next_producer_id=NO_PRODUCER_ID,
        partitions=frozenset(),
        last_update_ms=now_ms,
    )


def fenced(store: TransactionStore, transaction: Transaction, now: Now) -> Transaction:
    """Abort an ongoing transaction and fence its producer."""
    client_version = store.transaction_version()
    if client_version < EPOCH_BUMP_SINCE:
        bumped = transaction._replace(
            producer_epoch=min(transaction.producer_epoch + 1, EPOCH_MAX), last_producer_epoch=NO_EPOCH
        )
        return prepared(bumped, PREPARE_ABORT, client_version=0, now_ms=now.wall_ms)
    return prepared(
        transaction,
        PREPARE_ABORT,
        client_version=client_version,
        next_producer_id=store.producer_id_after(transaction),
        now_ms=now.wall_ms,
    )


def decide_complete(store: TransactionStore, completion: Completion, now: Now) -> Decision[None]:
    """Every marker is written."""
    transaction = store.transactions.get(completion.transactional_id)
    marker = completion.marker
    if (
        transaction is None
        or transaction.state not in COMPLETING
        or transaction.producer != (marker.producer_id, marker.producer_epoch)
    ):
        return Decision(None)  # an earlier attempt has completed it
    return Decision(None, [store.record(completion.transactional_id, completed(transaction, now.wall_ms))])
