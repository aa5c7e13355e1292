"""AddPartitionsToTxn (0-5): add partitions to a transaction before records are written to them.

Clients use versions 0 to 3. Brokers use version 4 and later: several transactions per request, and `verify_only` to
check that the partitions are already in the transaction. Either all partitions of a transaction are added or none: if
one does not exist, the others get OPERATION_NOT_ATTEMPTED. Clients may not write to internal topics.
"""

from collections.abc import Iterable, Mapping, Sequence

from barnabas.coordinator.txn.transaction import EPOCH_BUMP_SINCE
from barnabas.coordinator.txn_coordinator import TransactionCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Cluster
from barnabas.handlers.transactional import code_of
from barnabas.model import INTERNAL_TOPICS, TopicPartition
from barnabas.wire.errors import (
    KafkaError,
    OperationNotAttempted,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

PIECES = (Pieces("transactions", answers="results_by_transaction", size=20),)

_BATCH_SINCE = 4

Results = Mapping[TopicPartition, KafkaError | None]


async def handle(
    cluster: Cluster, transactions: TransactionCoordinator, context: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    if context.api_version < _BATCH_SINCE:
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=await _add(cluster, transactions, context, transaction)
        )
    return AddPartitionsToTxnResponse(
        results_by_transaction=tuple(
            [
                AddPartitionsToTxnResult(
                    transactional_id=each.transactional_id,
                    topic_results=await _add(cluster, transactions, context, each),
                )
                for each in request.transactions
            ]
        )
    )


async def _add(
    cluster: Cluster,
    transactions: TransactionCoordinator,
    context: RequestContext,
    transaction: AddPartitionsToTxnTransaction,
) -> tuple[AddPartitionsToTxnTopicResult, ...]:
    partitions = [TopicPartition(topic.name, index) for topic in transaction.topics for index in topic.partitions]
    refused = _refused(cluster, context, partitions)
    if refused:
        not_attempted = OperationNotAttempted("another partition of the transaction was refused")
        results: Results = {partition: refused.get(partition, not_attempted) for partition in partitions}
    else:
        results = await transactions.add_partitions(
            transaction.transactional_id,
            transaction.producer_id,
            transaction.producer_epoch,
            partitions,
            verify_only=transaction.verify_only,
            client_version=EPOCH_BUMP_SINCE if context.api_version >= _BATCH_SINCE else 0,
        )
    return tuple(
        AddPartitionsToTxnTopicResult(
            name=topic.name, results_by_partition=tuple(_results(context, topic.name, topic.partitions, results))
        )
        for topic in transaction.topics
    )


def _refused(
    cluster: Cluster, context: RequestContext, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, KafkaError]:
    topics = cluster.image.topics
    refused: dict[TopicPartition, KafkaError] = {}
    for partition in partitions:
        if partition.topic in INTERNAL_TOPICS and context.api_version < _BATCH_SINCE:
            refused[partition] = TopicAuthorizationFailed(f"{partition.topic} is internal: only brokers write to it")
        elif topics.partition(*partition) is None:
            refused[partition] = UnknownTopicOrPartition(f"there is no {partition}")
    return refused


def _results(
    context: RequestContext, topic: str, indexes: Iterable[int], results: Results
) -> Iterable[AddPartitionsToTxnPartitionResult]:
    for index in indexes:
        error = results[TopicPartition(topic, index)]
        if error is None:
            yield AddPartitionsToTxnPartitionResult(partition_index=index)
        else:
            yield AddPartitionsToTxnPartitionResult(
                partition_index=index, partition_error_code=code_of(error, context.api_version)
            )
