"""Produce (3-13): append batches to partitions this broker leads.

Everything up to the append runs before this returns, so pipelined requests keep their order; only waiting for a commit
(acks=all) or a sync happens afterwards. acks=0 gets no answer; an error closes the connection, which is the only way to
tell such a client that its metadata may be stale. Requests with a transactional id are verified first
(`produce_transactional.py`).

A transactional batch in a request without a transactional id is refused, but the request's other partitions are
appended to; Kafka refuses the whole request.
"""

import asyncio
import datetime
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from barnabas.env import Clock
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pending import MayFollow, WaitingAnswer
from barnabas.handlers.services import Cluster, Runtime
from barnabas.log.transactions import VerificationGuard
from barnabas.model import INTERNAL_TOPICS, TopicPartition
from barnabas.records.admission import admit, unchanged_header
from barnabas.records.batch import TRANSACTIONAL_FLAG, Batch
from barnabas.replication.partition import Partition, committed_within
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import (
    InvalidRequiredAcks,
    InvalidTopic,
    KafkaError,
    NotLeaderOrFollower,
    TransactionalIdAuthorizationFailed,
    UnknownTopicId,
)
from barnabas.wire.messages.produce import (
    LeaderIdAndEpoch,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from barnabas.wire.source import moment

if TYPE_CHECKING:
    from barnabas.coordinator.txn_coordinator import TransactionCoordinator

NAMED_BY_ID_SINCE: Final = 13
ZSTD_SINCE: Final = 7

_MILLISECOND: Final = datetime.timedelta(milliseconds=1)


class PendingAppend(NamedTuple):
    """An append that waits for its commit, with the position of its answer in the response."""

    topic_index: int
    partition_index: int
    waiter: "asyncio.Future[None]"


def handle(
    cluster: Cluster,
    runtime: Runtime,
    replicas: Replicas,
    transaction_coordinator: "Callable[[], TransactionCoordinator]",
    context: RequestContext,
    request: ProduceRequest,
) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
    if request.transactional_id is not None:
        from barnabas.handlers import produce_transactional

        transactions = transaction_coordinator()
        return produce_transactional.handle(cluster, runtime, replicas, transactions, context, request)
    return append_all(cluster, runtime, replicas, context, request)


def append_all(
    cluster: Cluster,
    runtime: Runtime,
    replicas: Replicas,
    context: RequestContext,
    request: ProduceRequest,
    verifications: "Mapping[TopicPartition, VerificationGuard | KafkaError] | None" = None,
) -> ProduceResponse | Awaitable[ProduceResponse] | None:
    """`verifications`: the transaction coordinator's answers by partition; None: there is no transactional id."""
    now_ms = runtime.clock.now_ms()
    zstd_allowed = context.api_version >= ZSTD_SINCE
    pending: list[PendingAppend] = []
    topics: list[TopicProduceResponse] = []
    refused: KafkaError | None = None
    for topic in request.topic_data:
        name = name_of(cluster, context, topic)
        refusal = _refusal_of_topic(name, request.acks)
        partitions: list[PartitionProduceResponse] = []
        for data in topic.partition_data:
            try:
                if name is None or refusal is not None:
                    raise refusal or UnknownTopicId()
                answer, waiter = _append(replicas, request.acks, name, data, now_ms, zstd_allowed, verifications)
            except KafkaError as error:
                answer, waiter = _refusal(cluster, name, data.index, error), None
                refused = error
            if waiter is not None:
                pending.append(PendingAppend(len(topics), len(partitions), waiter))
            partitions.append(answer)
        topics.append(
            TopicProduceResponse(name=name or "", topic_id=topic.topic_id, partition_responses=tuple(partitions))
        )
    if request.acks == 0:
        if refused is not None:
            # With acks=0 there is no response: raising closes the connection.
            raise refused
        return None
    if pending:
        # Other produce requests may start meanwhile. Other APIs must wait: ListOffsets has to see these records.
        committed = _answer_when_committed(topics, pending, request.timeout // _MILLISECOND, runtime.wait_clock)
        return WaitingAnswer(committed, MayFollow.SAME_API)
    return ProduceResponse(responses=tuple(topics))


def name_of(cluster: Cluster, context: RequestContext, topic: TopicProduceData) -> str | None:
    """None: no topic has the id."""
    if context.api_version < NAMED_BY_ID_SINCE:
        return topic.name
    known = cluster.image.topics.by_id.get(topic.topic_id) if topic.topic_id else None
    return known.name if known else None


def _refusal_of_topic(topic: str | None, acks: int) -> KafkaError | None:
    """Why nothing may be appended to it; None: it may."""
    if topic is None:
        return UnknownTopicId("no topic has this id: refresh the metadata")
    if acks not in (-1, 0, 1):
        return InvalidRequiredAcks(f"acks must be 0, 1 or all (-1), not {acks}")
    if topic in INTERNAL_TOPICS:
        return InvalidTopic(f"{topic} is internal: only the broker writes to it")
    return None


def _append(
    replicas: Replicas,
    acks: int,
    topic: str,
    data: PartitionProduceData,
    now_ms: int,
    zstd_allowed: bool,
    verifications: "Mapping[TopicPartition, VerificationGuard | KafkaError] | None",
) -> tuple[PartitionProduceResponse, "asyncio.Future[None] | None"]:
    index = data.index
    records = None if data.records is None else memoryview(data.records)
    partition = replicas.get(topic, index)
    header = None
    if records is not None and partition.appends_batches_unchanged:
        header = unchanged_header(records, 0, records, partition.admission_rules, now_ms, zstd_allowed)
        if header is not None and not header.attributes & TRANSACTIONAL_FLAG:
            base_offset = partition.append_in_place(header, records, now_ms)
            if base_offset >= 0:
                log_start_offset = partition.log.log_start_offset
                answer = PartitionProduceResponse(
                    index=index, base_offset=base_offset, log_start_offset=log_start_offset
                )
                return answer, None
    if header is not None and records is not None:
        batch = Batch(header, records)
    else:
        batch = admit(records, partition.admission_rules, now_ms, zstd_allowed=zstd_allowed)
    guard = _verified(partition, verifications) if batch.header.is_transactional else None
    appended = partition.append([batch], now_ms=now_ms, guard=guard)
    answer = PartitionProduceResponse(
        index=index,
        base_offset=appended.base_offset,
        log_append_time=moment(appended.log_append_time),
        log_start_offset=appended.log_start_offset,
    )
    if acks == 0 or partition.is_committed(appended.last_offset):
        return answer, None
    return answer, partition.wait_committed(appended.last_offset)


def _verified(
    partition: Partition, verifications: "Mapping[TopicPartition, VerificationGuard | KafkaError] | None"
) -> VerificationGuard | None:
    if verifications is None:
        raise TransactionalIdAuthorizationFailed("a transactional batch needs a transactional id in its request")
    outcome = verifications.get(partition.topic_partition)
    if isinstance(outcome, KafkaError):
        raise outcome
    return outcome


def _refusal(cluster: Cluster, topic: str | None, index: int, error: KafkaError) -> PartitionProduceResponse:
    leader = LeaderIdAndEpoch()
    if isinstance(error, NotLeaderOrFollower) and topic is not None:
        known = cluster.image.topics.partition(topic, index)
        if known is not None:  # the client need not ask for it (KIP-951)
            leader = LeaderIdAndEpoch(leader_id=known.leader, leader_epoch=known.leader_epoch)
    return PartitionProduceResponse(
        index=index, error_code=error.code, base_offset=-1, error_message=str(error), current_leader=leader
    )


async def _answer_when_committed(
    topics: list[TopicProduceResponse], pending: list[PendingAppend], timeout_ms: int, clock: Clock
) -> ProduceResponse:
    outcomes = await asyncio.gather(
        *(committed_within(wait.waiter, timeout_ms, clock) for wait in pending), return_exceptions=True
    )
    for wait, outcome in zip(pending, outcomes, strict=True):
        if outcome is None:
            continue
        if not isinstance(outcome, KafkaError):
            raise outcome
        topic = topics[wait.topic_index]
        partitions = list(topic.partition_responses)
        partitions[wait.partition_index] = PartitionProduceResponse(
            index=partitions[wait.partition_index].index,
            error_code=outcome.code,
            base_offset=-1,
            error_message=str(outcome),
        )
        topics[wait.topic_index] = topic.replace(partition_responses=tuple(partitions))
    return ProduceResponse(responses=tuple(topics))
