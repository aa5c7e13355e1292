"""ShareAcknowledge (1-2): a member of a share group acknowledges records that were delivered to it.

Answered when the acknowledgements are stored. The session's final epoch releases records that were not acknowledged.
"""

from datetime import timedelta

from barnabas.handlers.context import RequestContext
from barnabas.handlers.share_acknowledgements import Acknowledger, check_group_id, check_member_id
from barnabas.handlers.share_session import FINAL_EPOCH, INITIAL_EPOCH
from barnabas.handlers.share_version import check_share_groups
from barnabas.wire.errors import InvalidShareSessionEpoch, KafkaError
from barnabas.wire.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)

_NO_LEADER_HINT = LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)
"""Kafka sends 0 and 0, which franz-go takes for a hint that broker 0 leads the partition."""


async def handle(context: RequestContext, request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
    try:
        return await _answer(context, request)
    except KafkaError as error:
        return ShareAcknowledgeResponse(error_code=error.code, error_message=str(error))


async def _answer(context: RequestContext, request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
    broker = context.broker
    check_share_groups(broker)
    group_id, member_id = check_group_id(request.group_id), check_member_id(request.member_id)
    if request.share_session_epoch == INITIAL_EPOCH:
        raise InvalidShareSessionEpoch("only ShareFetch opens a share session")
    session = broker.share.sessions.resume(group_id, member_id, request.share_session_epoch)
    acknowledger = Acknowledger(broker, group_id, member_id, context.api_version, request.is_renew_ack)
    outcomes = await acknowledger.acknowledge(request.topics)
    if request.share_session_epoch == FINAL_EPOCH:
        await broker.share.end(session)
    topics: dict[object, ShareAcknowledgeTopicResponse] = {}
    for topic in request.topics:
        topics.setdefault(topic.topic_id, ShareAcknowledgeTopicResponse(topic_id=topic.topic_id))
    for where, error in outcomes.items():
        answer = PartitionData(partition_index=where.partition, current_leader=_NO_LEADER_HINT)
        if error is not None:
            answer.error_code, answer.error_message = error.code, str(error)
        topics[where.topic_id].partitions += (answer,)
    limits = broker.share.partitions.rules_of(group_id).limits
    return ShareAcknowledgeResponse(
        acquisition_lock_timeout=timedelta(milliseconds=limits.lock_duration_ms), responses=tuple(topics.values())
    )
