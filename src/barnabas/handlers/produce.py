"""Produce (3-13): append batches to partitions this broker leads.

Everything up to the append runs before this returns, so pipelined requests keep their order; only waiting for a commit
(acks=all) or a sync happens afterwards. acks=0 gets no answer; an error closes the connection, which is the only way to
tell such a client that its metadata may be stale. Requests with a transactional id are verified first
(`produce_transactional.py`).

A transactional batch in a request without a transactional id is refused, but the request's other partitions are
appended to; Kafka refuses the whole request.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Final, NamedTuple

from barnabas.env import Clock
from barnabas.handlers.context import Broker, RequestContext
from barnabas.handlers.pending import MayFollow, WaitingAnswer
from barnabas.log.transactions import VerificationGuard
from barnabas.model import INTERNAL_TOPICS, TopicPartition
from barnabas.records.admission import admit
from barnabas.replication.partition import committed_within
from barnabas.wire.errors import (
    InvalidRequiredAcks,
    InvalidTopic,
    KafkaError,
    NotLeaderOrFollower,
    TransactionalIdAuthorizationFailed,
    UnknownTopicId,
)
from barnabas.wire.produce_request import PartitionRecords, ProduceCall, TopicRecords
from barnabas.wire.produce_response import ProduceAnswer, ProducedPartition, ProducedTopic

NAMED_BY_ID_SINCE: Final = 13


class PendingAppend(NamedTuple):
    """An append that waits for its commit, with the position of its answer in the response."""

    topic_index: int
    partition_index: int
    waiter: "asyncio.Future[None]"


def handle(context: RequestContext, request: ProduceCall) -> ProduceAnswer | Awaitable[ProduceAnswer | None] | None:
    if request.transactional_id is not None:
        from barnabas.handlers import produce_transactional

        return produce_transactional.handle(context, request)
    return append_all(context, request)


def append_all(
    context: RequestContext,
    request: ProduceCall,
    verifications: "Mapping[TopicPartition, VerificationGuard | KafkaError] | None" = None,
) -> ProduceAnswer | Awaitable[ProduceAnswer] | None:
    """`verifications`: the transaction coordinator's answers by partition; None: there is no transactional id."""
    broker = context.broker
    now_ms = broker.clock.now_ms()
    pending: list[PendingAppend] = []
    topics: list[ProducedTopic] = []
    refused: KafkaError | None = None
    for topic in request.topics:
        name = name_of(context, topic)
        partitions: list[ProducedPartition] = []
        for data in topic.partitions:
            try:
                answer, waiter = _append(context, request.acks, name, data, now_ms, verifications)
            except KafkaError as error:
                answer, waiter = _refusal(broker, name, data.partition, error), None
                refused = error
            if waiter is not None:
                pending.append(PendingAppend(len(topics), len(partitions), waiter))
            partitions.append(answer)
        topics.append(ProducedTopic(name or "", topic.topic_id, partitions))
    if request.acks == 0:
        if refused is not None:
            # With acks=0 there is no response: raising closes the connection.
            raise refused
        return None
    if pending:
        # Other produce requests may start meanwhile. Other APIs must wait: ListOffsets has to see these records.
        committed = _answer_when_committed(topics, pending, request.timeout_ms, broker.wait_clock)
        return WaitingAnswer(committed, MayFollow.SAME_API)
    return ProduceAnswer(topics)


def name_of(context: RequestContext, topic: TopicRecords) -> str | None:
    """None: no topic has the id."""
    if context.api_version < NAMED_BY_ID_SINCE:
        return topic.name
    known = context.broker.image.topics.by_id.get(topic.topic_id) if topic.topic_id else None
    return known.name if known else None


def _append(
    context: RequestContext,
    acks: int,
    topic: str | None,
    data: PartitionRecords,
    now_ms: int,
    verifications: "Mapping[TopicPartition, VerificationGuard | KafkaError] | None",
) -> tuple[ProducedPartition, "asyncio.Future[None] | None"]:
    if topic is None:
        raise UnknownTopicId("no topic has this id: refresh the metadata")
    if acks not in (-1, 0, 1):
        raise InvalidRequiredAcks(f"acks must be 0, 1 or all (-1), not {acks}")
    if topic in INTERNAL_TOPICS:
        raise InvalidTopic(f"{topic} is internal: only the broker writes to it")
    partition = context.broker.replicas.get(topic, data.partition)
    batches = admit(data.records, partition.admission_rules, now_ms, zstd_allowed=context.api_version >= 7)
    guard = None
    if batches[0].header.is_transactional:
        if verifications is None:
            raise TransactionalIdAuthorizationFailed("a transactional batch needs a transactional id in its request")
        outcome = verifications.get(partition.topic_partition)
        if isinstance(outcome, KafkaError):
            raise outcome
        guard = outcome
    appended = partition.append(batches, now_ms=now_ms, guard=guard)
    answer = ProducedPartition(
        data.partition, 0, appended.base_offset, appended.log_append_time, appended.log_start_offset
    )
    if acks == 0 or partition.is_committed(appended.last_offset):
        return answer, None
    return answer, partition.wait_committed(appended.last_offset)


def _refusal(broker: Broker, topic: str | None, index: int, error: KafkaError) -> ProducedPartition:
    leader = None
    if isinstance(error, NotLeaderOrFollower) and topic is not None:
        known = broker.image.topics.partition(topic, index)
        leader = (known.leader, known.leader_epoch) if known else None
    return ProducedPartition(index, int(error.code), error_message=str(error), leader=leader)


async def _answer_when_committed(
    topics: list[ProducedTopic], pending: list[PendingAppend], timeout_ms: int, clock: Clock
) -> ProduceAnswer:
    outcomes = await asyncio.gather(
        *(committed_within(wait.waiter, timeout_ms, clock) for wait in pending), return_exceptions=True
    )
    for wait, outcome in zip(pending, outcomes, strict=True):
        if outcome is None:
            continue
        if not isinstance(outcome, KafkaError):
            raise outcome
        partitions = list(topics[wait.topic_index].partitions)
        answer = partitions[wait.partition_index]
        partitions[wait.partition_index] = ProducedPartition(
            answer.partition, int(outcome.code), error_message=str(outcome)
        )
        topics[wait.topic_index] = topics[wait.topic_index]._replace(partitions=partitions)
    return ProduceAnswer(topics)
