"""FindCoordinator (0-6): which broker coordinates a group, a transactional id or a share partition.

It is the leader of the key's partition of an internal topic. The topic is created on the first lookup of its type, and
the lookup waits for it; Kafka answers COORDINATOR_NOT_AVAILABLE meanwhile. Version 4 adds lookups of several keys,
version 6 adds share-partitions (group:topicId:partition).
"""

import re
from collections.abc import Awaitable

from barnabas.coordinator.core.key_hash import partition_of
from barnabas.handlers.context import RequestContext
from barnabas.handlers.endpoints import endpoint_for
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Cluster, TopicMaker
from barnabas.model import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from barnabas.wire.errors import CoordinatorNotAvailable, ErrorCode, InvalidRequest, KafkaError
from barnabas.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

GROUP, TRANSACTION, SHARE = 0, 1, 2
_TOPICS = {GROUP: OFFSETS_TOPIC, TRANSACTION: TRANSACTIONS_TOPIC, SHARE: SHARE_STATE_TOPIC}
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}={0,2}")
_PARTITION = re.compile(r"[0-9]{1,9}")

ANSWERS_FROM_IMAGE = True

_BATCH_SINCE = 4
_SHARE_SINCE = 6

PIECES = (Pieces("coordinator_keys", answers="coordinators", size=50),)


def handle(
    cluster: Cluster, topic_maker: TopicMaker, context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Awaitable[FindCoordinatorResponse]:
    topic = _TOPICS.get(request.key_type)
    if topic is None or topic in cluster.image.topics.by_name:
        return _respond(cluster, context, request)
    return _create_then_respond(cluster, topic_maker, context, request, topic)


async def _create_then_respond(
    cluster: Cluster, topic_maker: TopicMaker, context: RequestContext, request: FindCoordinatorRequest, topic: str
) -> FindCoordinatorResponse:
    try:
        await topic_maker.ensure_internal(topic)
    except KafkaError as error:
        return _respond(cluster, context, request, CoordinatorNotAvailable(f"{topic} could not be created: {error}"))
    return _respond(cluster, context, request)


def _respond(
    cluster: Cluster, context: RequestContext, request: FindCoordinatorRequest, failure: KafkaError | None = None
) -> FindCoordinatorResponse:
    if context.api_version >= _BATCH_SINCE:
        found = [_find(cluster, context, request.key_type, key, failure) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=tuple(found))
    one = _find(cluster, context, request.key_type, request.key, failure)
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message,
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


def _find(
    cluster: Cluster, context: RequestContext, key_type: int, key: str, failure: KafkaError | None
) -> Coordinator:
    try:
        return _coordinator(cluster, context, key_type, key, failure)
    except KafkaError as error:
        return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error.code, error_message=str(error))


def _coordinator(
    cluster: Cluster, context: RequestContext, key_type: int, key: str, failure: KafkaError | None
) -> Coordinator:
    topic = _TOPICS.get(key_type)
    if topic is None or (key_type == SHARE and context.api_version < _SHARE_SINCE):
        raise InvalidRequest(f"there is no coordinator of type {key_type}")
    if key_type == SHARE:
        _check_share_key(key)
    if failure is not None:
        raise failure
    image = cluster.image
    known = image.topics.by_name.get(topic)
    partition = None if known is None else known.partitions.get(partition_of(key, len(known.partitions)))
    leader = None if partition is None else image.brokers.get(partition.leader)
    if leader is None or leader.fenced:
        raise CoordinatorNotAvailable(f"the key's partition of {topic} has no leader")
    endpoint = endpoint_for(leader, context.client)
    if endpoint is None:
        raise CoordinatorNotAvailable(f"broker {leader.id} has no listener {context.client.listener_name}")
    return Coordinator(key=key, node_id=leader.id, host=endpoint.host, port=endpoint.port, error_code=ErrorCode.none)


def _check_share_key(key: str) -> None:
    """group:topicId:partition. A group id may contain colons too."""
    group_id, _, rest = key.rpartition(":")[0].rpartition(":")
    topic_id, partition = rest, key.rpartition(":")[2]
    if not (group_id.strip() and _TOPIC_ID.fullmatch(topic_id) and _PARTITION.fullmatch(partition)):
        raise InvalidRequest(f"a share coordinator's key is group:topicId:partition, not {key}")
