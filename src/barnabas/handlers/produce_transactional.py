"""Produce with a transactional id: before a batch opens a transaction in a partition, its coordinator is asked.

Clients that know transaction.version 2 (Produce 12 and later) leave it to us to add the partition to the transaction;
others have done it themselves with AddPartitionsToTxn, and we make sure of it (KIP-890). While a transaction is open in
a partition its batches are appended without a question.

Most of the time the coordinator answers at once, and the request is handled as any other. If it takes its time,
requests that come later over the same connection wait for this one: or their batches would be out of sequence.

Errors of the coordinator become errors that producers know, as with Kafka: a coordinator that is loading or elsewhere
is NOT_ENOUGH_REPLICAS, which every client tries again without asking for metadata.
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

Gate = dict[TopicPartition, VerificationGuard | KafkaError]
Answer = ProduceAnswer | Awaitable[ProduceAnswer | None] | None


class Batch(NamedTuple):
    """A transactional batch of a request, by its header: whether it is sound is looked at when it is appended."""

    partition: TopicPartition
    header: BatchHeader


def handle(context: RequestContext, request: ProduceCall) -> Answer:
    batches = _transactional_batches(context, request)
    gate = _begin(context, batches)
    if _is_decided(context, request, batches, gate):
        return produce.append_all(context, request, gate)
    return _append_when_decided(context, request, batches[0].header, gate)


async def _append_when_decided(
    context: RequestContext, request: ProduceCall, header: BatchHeader, gate: Gate
) -> ProduceAnswer | None:
    assert request.transactional_id is not None
    results = await context.broker.transactions.add_partitions(
        request.transactional_id,
        header.producer_id,
        header.producer_epoch,
        _asked(gate),
        verify_only=context.api_version < ADDS_PARTITIONS_SINCE,
    )
    _note(gate, results, context.api_version)
    answer = produce.append_all(context, request, gate)
    return await answer if isinstance(answer, Awaitable) else answer


def _begin(context: RequestContext, batches: Sequence[Batch]) -> Gate:
    """For each partition whose transaction is not open yet: its guard, with which the coordinator is to be asked."""
    gate: Gate = {}
    adds = context.api_version >= ADDS_PARTITIONS_SINCE
    if not batches or not (adds or context.broker.configs.boolean("transaction.partition.verification.enable")):
        return gate
    producer_id, epoch = batches[0].header.producer_id, batches[0].header.producer_epoch
    if any(header.producer_id != producer_id or header.producer_epoch != epoch for _, header in batches):
        mixed = InvalidProducerIdMapping("a request holds the transactional batches of one producer only")
        return dict.fromkeys((batch.partition for batch in batches), mixed)
    for partition, header in batches:
        try:
            guard = context.broker.replicas.get(*partition).begin_verification(
                producer_id, epoch, header.base_sequence, supports_epoch_bump=adds
            )
        except KafkaError as error:
            gate[partition] = error
        else:
            if guard is not None:
                gate[partition] = guard
    return gate


def _is_decided(context: RequestContext, request: ProduceCall, batches: Sequence[Batch], gate: Gate) -> bool:
    """Whether nothing is to be asked, or the coordinator has answered at once; its answer is in the gate then."""
    asked = _asked(gate)
    if not asked:
        return True
    header = batches[0].header
    assert request.transactional_id is not None
    results = context.broker.transactions.try_add_partitions(
        request.transactional_id,
        header.producer_id,
        header.producer_epoch,
        asked,
        verify_only=context.api_version < ADDS_PARTITIONS_SINCE,
    )
    if results is None:
        return False
    _note(gate, results, context.api_version)
    return True


def _asked(gate: Gate) -> list[TopicPartition]:
    return [partition for partition, outcome in gate.items() if isinstance(outcome, VerificationGuard)]


def _note(gate: Gate, results: Mapping[TopicPartition, KafkaError | None], version: int) -> None:
    for partition, error in results.items():
        if error is not None:
            gate[partition] = _for_producer(error, version)


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
    """What cannot be told from its header is refused when it is to be appended."""
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
