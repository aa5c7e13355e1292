"""AddPartitionsToTxn and AddOffsetsToTxn: a partition joins a transaction before anything is written to it.

The first partition begins the transaction. With transaction.version 2 the broker that receives a record adds the
partition itself; older clients add it, and the broker verifies that.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from barnabas.coordinator.core.decision import Decision, Now
from barnabas.coordinator.txn.states import COMPLETING, IDLE, ONGOING
from barnabas.coordinator.txn.store import TransactionStore
from barnabas.coordinator.txn.transaction import Transaction
from barnabas.model import TopicPartition
from barnabas.wire.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    KafkaError,
    ProducerFenced,
    TransactionAbortable,
)


class PartitionClaim(NamedTuple):
    """The producer, and the partitions it wants in its transaction."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: Collection[TopicPartition]


def decide_add_partitions(
    store: TransactionStore, request: PartitionClaim, client_version: int, now: Now
) -> Decision[None]:
    transaction = store.transactions.get(request.transactional_id)
    if transaction is not None and transaction.state in COMPLETING:
        # Before the producer is checked: that of the next transaction may have an id that is not stored yet.
        raise still_completing(request.transactional_id)
    transaction = of_producer(request.transactional_id, transaction, request.producer_id, request.producer_epoch)
    partitions = transaction.partitions.union(request.partitions)
    if transaction.state is ONGOING and len(partitions) == len(transaction.partitions):
        return Decision(None)
    ongoing = transaction.moved_to(
        ONGOING,
        partitions=partitions,
        start_ms=now.wall_ms if transaction.state in IDLE else transaction.start_ms,
        last_update_ms=now.wall_ms,
        client_version=client_version,
    )
    store.schedule_timeouts(now)
    return Decision(None, [store.record(request.transactional_id, ongoing)])


def verify_partitions(store: TransactionStore, request: PartitionClaim) -> Mapping[TopicPartition, KafkaError | None]:
    transaction = store.transactions.get(request.transactional_id)
    transaction = of_producer(request.transactional_id, transaction, request.producer_id, request.producer_epoch)
    if transaction.state in COMPLETING:
        raise still_completing(request.transactional_id)
    return {
        partition: None
        if partition in transaction.partitions
        else TransactionAbortable(f"{partition} is not part of the transaction of {request.transactional_id}")
        for partition in request.partitions
    }


def of_producer(
    transactional_id: str, transaction: Transaction | None, producer_id: int, producer_epoch: int
) -> Transaction:
    if transaction is None or transaction.producer_id != producer_id:
        raise InvalidProducerIdMapping(f"{producer_id} is not the producer id of {transactional_id}")
    if transaction.producer_epoch != producer_epoch:
        raise ProducerFenced(f"{transactional_id} is at epoch {transaction.producer_epoch}, not {producer_epoch}")
    return transaction


def still_completing(transactional_id: str) -> ConcurrentTransactions:
    return ConcurrentTransactions(f"the last transaction of {transactional_id} is still being completed; try again")
