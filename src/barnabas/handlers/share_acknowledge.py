"""ShareAcknowledge (1-2): a member of a share group acknowledges records that were delivered to it.

Answered when the acknowledgements are stored. The session's final epoch releases records that were not acknowledged.
"""

import uuid
from datetime import timedelta

from barnabas.handlers.context import RequestContext
from barnabas.handlers.outcomes import error_fields
from barnabas.handlers.services import Cluster, Runtime
from barnabas.handlers.share_acknowledgements import Acknowledger, check_group_id, check_member_id
from barnabas.handlers.share_services import ShareServices
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


async def handle(
    cluster: Cluster,
    runtime: Runtime,
    share: ShareServices,
    context: RequestContext,
    request: ShareAcknowledgeRequest,
) -> ShareAcknowledgeResponse:
    try:
        return await _answer(cluster, runtime, share, context, request)
    except KafkaError as error:
        return ShareAcknowledgeResponse(error_code=error.code, error_message=str(error))


async def _answer(
    cluster: Cluster,
    runtime: Runtime,
    share: ShareServices,
    context: RequestContext,
    request: ShareAcknowledgeRequest,
) -> ShareAcknowledgeResponse:
    check_share_groups(cluster)
    group_id, member_id = check_group_id(request.group_id), check_member_id(request.member_id)
    if request.share_session_epoch == INITIAL_EPOCH:
        raise InvalidShareSessionEpoch("only ShareFetch opens a share session")
    session = share.sessions.resume(group_id, member_id, request.share_session_epoch)
    acknowledger = Acknowledger(cluster, runtime, share, group_id, member_id, context.api_version, request.is_renew_ack)
    outcomes = await acknowledger.acknowledge(request.topics)
    if request.share_session_epoch == FINAL_EPOCH:
        await share.end(session)
    topics: dict[uuid.UUID | None, list[PartitionData]] = {topic.topic_id: [] for topic in request.topics}
    for where, error in outcomes.items():
        topics[where.topic_id].append(
            PartitionData(
                partition_index=where.partition,
                current_leader=_NO_LEADER_HINT,
                **error_fields(error),
            )
        )
    limits = share.partitions.rules_of(group_id).limits
    return ShareAcknowledgeResponse(
        acquisition_lock_timeout=timedelta(milliseconds=limits.lock_duration_ms),
        responses=tuple(
            ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=tuple(partitions))
            for topic_id, partitions in topics.items()
        ),
    )
