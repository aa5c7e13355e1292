"""Produce with a transactional id: before a batch opens a transaction in a partition, the coordinator verifies it.

For clients with transaction.version 2 (Produce 12 and later), the broker adds the partition to the transaction. Older
clients have added it with AddPartitionsToTxn, and the broker verifies that they did (KIP-890). While a transaction is
open in a partition, its further batches are appended without asking again.

Usually the coordinator answers at once, and the request is handled like any other. If it does not, later requests on
the same connection wait for this one, or their batches would be out of sequence.

The coordinator's errors become errors that producers handle, as in Kafka: a coordinator that is loading or has moved
becomes NOT_ENOUGH_REPLICAS, which every client retries without refreshing metadata.
"""

from collections.abc import Awaitable, Mapping, Sequence
from typing import NamedTuple

from barnabas.handlers import produce
from barnabas.handlers.context import RequestContext
from barnabas.log.transactions import VerificationGuard
from barnabas.model import TopicPartition
from barnabas.records.batch import HEADER_SIZE, MAGIC, BatchHeader, read_header
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
from barnabas.wire.produce_request import ProduceCall
from barnabas.wire.produce_response import ProduceAnswer

ADDS_PARTITIONS_SINCE = 12
KNOWS_ABORTABLE_SINCE = 11

Verifications = dict[TopicPartition, VerificationGuard | KafkaError]
"""For each partition to verify: a guard while it is pending or verified, or the error."""
Answer = ProduceAnswer | Awaitable[ProduceAnswer | None] | None


class Batch(NamedTuple):
    """A transactional batch of a request, by its header. The rest is checked when the batch is appended."""

    partition: TopicPartition
    header: BatchHeader


def handle(context: RequestContext, request: ProduceCall) -> Answer:
    batches = _transactional_batches(context, request)
    verifications = _begin_verifications(context, batches)
    if _try_verify(context, request, batches, verifications):
        return produce.append_all(context, request, verifications)
    return _append_when_verified(context, request, batches[0].header, verifications)


async def _append_when_verified(
    context: RequestContext, request: ProduceCall, header: BatchHeader, verifications: Verifications
) -> ProduceAnswer | None:
    assert request.transactional_id is not None
    results = await context.broker.transactions.add_partitions(
        request.transactional_id,
        header.producer_id,
        header.producer_epoch,
        _unverified(verifications),
        verify_only=context.api_version < ADDS_PARTITIONS_SINCE,
    )
    _set_errors(verifications, results, context.api_version)
    answer = produce.append_all(context, request, verifications)
    return await answer if isinstance(answer, Awaitable) else answer


def _begin_verifications(context: RequestContext, batches: Sequence[Batch]) -> Verifications:
    """A guard for each partition in which the transaction is not open yet: the coordinator has to verify these."""
    verifications: Verifications = {}
    adds = context.api_version >= ADDS_PARTITIONS_SINCE
    if not batches or not (adds or context.broker.configs.boolean("transaction.partition.verification.enable")):
        return verifications
    producer_id, epoch = batches[0].header.producer_id, batches[0].header.producer_epoch
    if any(header.producer_id != producer_id or header.producer_epoch != epoch for _, header in batches):
        mixed = InvalidProducerIdMapping("the request has transactional batches of more than one producer")
        return dict.fromkeys((batch.partition for batch in batches), mixed)
    for partition, header in batches:
        try:
            guard = context.broker.replicas.get(*partition).begin_verification(
                producer_id, epoch, header.base_sequence, supports_epoch_bump=adds
            )
        except KafkaError as error:
            verifications[partition] = error
        else:
            if guard is not None:
                verifications[partition] = guard
    return verifications


def _try_verify(
    context: RequestContext, request: ProduceCall, batches: Sequence[Batch], verifications: Verifications
) -> bool:
    """Whether `verifications` are complete: there was nothing to verify, or the coordinator could answer at once."""
    unverified = _unverified(verifications)
    if not unverified:
        return True
    header = batches[0].header
    assert request.transactional_id is not None
    results = context.broker.transactions.try_add_partitions(
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


def _transactional_batches(context: RequestContext, request: ProduceCall) -> list[Batch]:
    """Batches with an invalid header are left out here; the append refuses them."""
    batches: list[Batch] = []
    for topic in request.topics:
        name = produce.name_of(context, topic)
        for index, records in topic.partitions:
            if name is None or records is None or len(records) < HEADER_SIZE:
                continue
            header = read_header(records)
            if header.magic == MAGIC and header.is_transactional and header.producer_id >= 0:
                batches.append(Batch(TopicPartition(name, index), header))
    return batches
