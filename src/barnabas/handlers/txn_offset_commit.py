"""TxnOffsetCommit (0-5): commit a group's offsets as part of a transaction.

The offsets are written to the group's partition of __consumer_offsets, so that partition must be in the transaction.
Clients up to version 4 add it with AddOffsetsToTxn, and this handler verifies it; from version 5 on
(transaction.version 2) this handler adds it. An error of the group or of the transaction is the answer for every
partition that exists.
"""

from collections.abc import Sequence

from barnabas.coordinator.core.ports import TransactionalProducer
from barnabas.coordinator.errors import coordinator_error
from barnabas.coordinator.group.offsets.commit import Refused
from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.coordinator.txn_coordinator import TransactionCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Cluster, TopicMaker
from barnabas.model import OFFSETS_TOPIC, TopicPartition
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    ErrorCode,
    InvalidGroupId,
    InvalidProducerEpoch,
    InvalidTxnState,
    KafkaError,
    ProducerFenced,
    TransactionAbortable,
    UnknownTopicOrPartition,
)
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

PIECES = (Pieces("topics", parts="partitions", answers="topics", size=150),)

_LOAD_IN_PROGRESS_SINCE = 2
_TRANSACTION_ABORTABLE_SINCE = 4
_ADDS_SINCE = 5
_NO_SEQUENCE = -1


async def handle(
    cluster: Cluster,
    replicas: Replicas,
    topic_maker: TopicMaker,
    groups: GroupCoordinator,
    transactions: TransactionCoordinator,
    context: RequestContext,
    request: TxnOffsetCommitRequest,
) -> TxnOffsetCommitResponse:
    topics = _existing(cluster, request.topics)
    codes: dict[tuple[str, int], ErrorCode] = {}
    if topics:
        code, refused = ErrorCode.none, {}
        try:
            refused = await _commit(replicas, topic_maker, groups, transactions, context, request, topics)
        except KafkaError as error:
            code = _code_of(error, context.api_version)
        codes = {(topic.name, each.partition_index): code for topic in topics for each in topic.partitions}
        codes |= {place: error.code for place, error in refused.items()}
    unknown = UnknownTopicOrPartition.code
    return TxnOffsetCommitResponse(
        topics=tuple(
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=tuple(
                    TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index,
                        error_code=codes.get((topic.name, each.partition_index), unknown),
                    )
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _existing(
    cluster: Cluster, topics: Sequence[TxnOffsetCommitRequestTopic]
) -> tuple[TxnOffsetCommitRequestTopic, ...]:
    known = cluster.image.topics
    return tuple(
        TxnOffsetCommitRequestTopic(name=topic.name, partitions=existing)
        for topic in topics
        if (existing := tuple(each for each in topic.partitions if known.partition(topic.name, each.partition_index)))
    )


def _code_of(error: KafkaError, api_version: int) -> ErrorCode:
    if isinstance(error, ProducerFenced):
        return InvalidProducerEpoch.code
    if isinstance(error, CoordinatorLoadInProgress) and api_version < _LOAD_IN_PROGRESS_SINCE:
        return CoordinatorNotAvailable.code
    return error.code


async def _commit(
    replicas: Replicas,
    topic_maker: TopicMaker,
    groups: GroupCoordinator,
    transactions: TransactionCoordinator,
    context: RequestContext,
    request: TxnOffsetCommitRequest,
    topics: tuple[TxnOffsetCommitRequestTopic, ...],
) -> Refused:
    if not request.group_id:
        raise InvalidGroupId("the group id is empty")
    asked_for = TxnOffsetCommitRequest(
        transactional_id=request.transactional_id,
        group_id=request.group_id,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        generation_id=request.generation_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        topics=topics,
    )
    producer = await _verified(replicas, topic_maker, groups, transactions, context, request)
    return await groups.txn_offset_commit(asked_for, producer)


async def _verified(
    replicas: Replicas,
    topic_maker: TopicMaker,
    groups: GroupCoordinator,
    transactions: TransactionCoordinator,
    context: RequestContext,
    request: TxnOffsetCommitRequest,
) -> TransactionalProducer:
    """The producer, after verifying that its transaction includes the group's partition of __consumer_offsets."""
    await topic_maker.ensure_internal(OFFSETS_TOPIC)
    home = TopicPartition(OFFSETS_TOPIC, groups.partition_for(request.group_id))
    adds = context.api_version >= _ADDS_SINCE
    try:
        guard = replicas.get(*home).begin_verification(
            request.producer_id, request.producer_epoch, _NO_SEQUENCE, supports_epoch_bump=adds
        )
    except KafkaError as error:
        raise coordinator_error(error) from error
    if guard is not None:
        results = await transactions.add_partitions(
            request.transactional_id, request.producer_id, request.producer_epoch, (home,), verify_only=not adds
        )
        refusal = results[home]
        if isinstance(refusal, TransactionAbortable) and context.api_version < _TRANSACTION_ABORTABLE_SINCE:
            raise InvalidTxnState(str(refusal)) from refusal
        if refusal is not None:
            raise refusal
    return TransactionalProducer(request.producer_id, request.producer_epoch, guard)
