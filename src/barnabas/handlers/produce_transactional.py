"""Produce with a transactional id: before a batch opens a transaction in a partition, the coordinator verifies it.

For clients with transaction.version 2 (Produce 12 and later), the broker adds the partition to the transaction. Older
clients have added it with AddPartitionsToTxn, and the broker verifies that they did (KIP-890). While a transaction is
open in a partition, its further batches are appended without asking again.

Usually the coordinator answers at once, and the request is handled like any other. If it does not, later requests on
the same connection wait for this one, or their batches would be out of sequence.

The coordinator's errors become errors that producers handle, as in Kafka: a coordinator that is loading or has moved
becomes NOT_ENOUGH_REPLICAS, which every client retries without refreshing metadata.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from barnabas.coordinator.txn_coordinator import TransactionCoordinator
from barnabas.handlers import produce
from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Cluster, Runtime
from barnabas.log.transactions import VerificationGuard
from barnabas.model import TopicPartition
from barnabas.records.batch import HEADER_SIZE, MAGIC, BatchHeader, read_header
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    KafkaError,
    NotCoordinator,
    NotEnoughReplicas,
    ProducerFenced,
    RequestTimedOut,
    TransactionAbortable,
)
from barnabas.wire.messages.produce import ProduceRequest, ProduceResponse

ADDS_PARTITIONS_SINCE = 12
KNOWS_ABORTABLE_SINCE = 11

Verifications = dict[TopicPartition, VerificationGuard | KafkaError]
"""For each partition to verify: a guard while it is pending or verified, or the error."""
Answer = ProduceResponse | Awaitable[ProduceResponse | None] | None


class Batch(NamedTuple):
    """A transactional batch of a request, by its header. The rest is checked when the batch is appended."""

    partition: TopicPartition
    header: BatchHeader


def handle(
    cluster: Cluster,
    runtime: Runtime,
    replicas: Replicas,
    transactions: TransactionCoordinator,
    context: RequestContext,
    request: ProduceRequest,
) -> Answer:
    batches = _transactional_batches(cluster, context, request)
    verifications = _begin_verifications(cluster, replicas, context, batches)
    if _try_verify(transactions, context, request, batches, verifications):
        return produce.append_all(cluster, runtime, replicas, context, request, verifications)
    request = _copied(request)
    append = partial(produce.append_all, cluster, runtime, replicas, context, request, verifications)
    return _append_when_verified(append, transactions, context, request, batches[0].header, verifications)


def _copied(request: ProduceRequest) -> ProduceRequest:
    """Its records are parts of the frame, which is gone when the coordinator answers."""
    topics = [
        topic.replace(
            partition_data=tuple(
                each.replace(records=None if each.records is None else bytes(each.records))
                for each in topic.partition_data
            )
        )
        for topic in request.topic_data
    ]
    return request.replace(topic_data=tuple(topics))


async def _append_when_verified(
    append: Callable[[], ProduceResponse | Awaitable[ProduceResponse] | None],
    transactions: TransactionCoordinator,
    context: RequestContext,
    request: ProduceRequest,
    header: BatchHeader,
    verifications: Verifications,
) -> ProduceResponse | None:
    assert request.transactional_id is not None
    results = await transactions.add_partitions(
        request.transactional_id,
        header.producer_id,
        header.producer_epoch,
        _unverified(verifications),
        verify_only=context.api_version < ADDS_PARTITIONS_SINCE,
    )
    _set_errors(verifications, results, context.api_version)
    answer = append()
    return await answer if isinstance(answer, Awaitable) else answer


def _begin_verifications(
    cluster: Cluster, replicas: Replicas, context: RequestContext, batches: Sequence[Batch]
) -> Verifications:
    """A guard for each partition in which the transaction is not open yet: the coordinator has to verify these."""
    verifications: Verifications = {}
    adds = context.api_version >= ADDS_PARTITIONS_SINCE
    if not batches or not (adds or cluster.configs.boolean("transaction.partition.verification.enable")):
        return verifications
    producer_id, epoch = batches[0].header.producer_id, batches[0].header.producer_epoch
    if any(header.producer_id != producer_id or header.producer_epoch != epoch for _, header in batches):
        mixed = InvalidProducerIdMapping("the request has transactional batches of more than one producer")
        return dict.fromkeys((batch.partition for batch in batches), mixed)
    for partition, header in batches:
        try:
            guard = replicas.get(*partition).begin_verification(
                producer_id, epoch, header.base_sequence, supports_epoch_bump=adds
            )
        except KafkaError as error:
            verifications[partition] = error
        else:
            if guard is not None:
                verifications[partition] = guard
    return verifications


def _try_verify(
    transactions: TransactionCoordinator,
    context: RequestContext,
    request: ProduceRequest,
    batches: Sequence[Batch],
    verifications: Verifications,
) -> bool:
    """Whether `verifications` are complete: there was nothing to verify, or the coordinator could answer at once."""
    unverified = _unverified(verifications)
    if not unverified:
        return True
    header = batches[0].header
    assert request.transactional_id is not None
    results = transactions.try_add_partitions(
        request.transactional_id,
        header.producer_id,
        header.producer_epoch,
        unverified,
        verify_only=context.api_version < ADDS_PARTITIONS_SINCE,
    )
    if results is None:
        return False
    _set_errors(verifications, results, context.api_version)
    return True


def _unverified(verifications: Verifications) -> list[TopicPartition]:
    return [partition for partition, outcome in verifications.items() if isinstance(outcome, VerificationGuard)]


def _set_errors(
    verifications: Verifications, results: Mapping[TopicPartition, KafkaError | None], version: int
) -> None:
    for partition, error in results.items():
        if error is not None:
            verifications[partition] = _for_producer(error, version)


def _for_producer(error: KafkaError, version: int) -> KafkaError:
    if isinstance(error, ProducerFenced):
        return InvalidProducerEpoch(str(error))
    if isinstance(error, TransactionAbortable) and version < KNOWS_ABORTABLE_SINCE:
        return InvalidTxnState(str(error))
    is_temporary = isinstance(
        error, CoordinatorLoadInProgress | CoordinatorNotAvailable | NotCoordinator | RequestTimedOut
    )
    if is_temporary or (isinstance(error, ConcurrentTransactions) and version < ADDS_PARTITIONS_SINCE):
        return NotEnoughReplicas(f"the partition could not be verified to belong to the transaction: {error}")
    return error


def _transactional_batches(cluster: Cluster, context: RequestContext, request: ProduceRequest) -> list[Batch]:
    """Batches with an invalid header are left out here; the append refuses them."""
    batches: list[Batch] = []
    for topic in request.topic_data:
        name = produce.name_of(cluster, context, topic)
        for data in topic.partition_data:
            if name is None or data.records is None or len(data.records) < HEADER_SIZE:
                continue
            header = read_header(data.records)
            if header.magic == MAGIC and header.is_transactional and header.producer_id >= 0:
                batches.append(Batch(TopicPartition(name, data.index), header))
    return batches
