"""FindCoordinator (0-6): which broker coordinates a group. Several keys at once from version 4 on.

The coordinator of a group is the leader of its partition of __consumer_offsets, which is created when the first group
is looked for. Transactions (key type 1) and share groups (2, from version 6 on) have no coordinator here yet.
"""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.endpoints import endpoint_for
from barnabas.wire.errors import CoordinatorNotAvailable, ErrorCode, InvalidRequest, KafkaError
from barnabas.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

GROUP_TOPIC = "__consumer_offsets"
GROUP, TRANSACTION, SHARE = 0, 1, 2

_BATCH_SINCE = 4
_SHARE_SINCE = 6


async def handle(context: RequestContext, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if context.api_version >= _BATCH_SINCE:
        found = [await _find(context, request.key_type, key) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=tuple(found))
    one = await _find(context, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message,
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


async def _find(context: RequestContext, key_type: int, key: str) -> Coordinator:
    try:
        return await _coordinator(context, key_type, key)
    except KafkaError as error:
        return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error.code, error_message=str(error))


async def _coordinator(context: RequestContext, key_type: int, key: str) -> Coordinator:
    if key_type == GROUP:
        return await _group_coordinator(context, key)
    if key_type == TRANSACTION:
        # An error that no client retries: waiting would not help.
        raise InvalidRequest("transactions are not supported yet: unset transactional.id")
    if key_type == SHARE and context.api_version >= _SHARE_SINCE:
        raise InvalidRequest("share groups are not supported yet: use a consumer group")
    raise InvalidRequest(f"there is no coordinator of type {key_type}")


async def _group_coordinator(context: RequestContext, group_id: str) -> Coordinator:
    broker = context.broker
    try:
        await broker.ensure_internal_topic(GROUP_TOPIC)
    except KafkaError as error:
        raise CoordinatorNotAvailable(f"{GROUP_TOPIC} could not be created: {error}") from error
    image = broker.image
    topic = image.topics.by_name.get(GROUP_TOPIC)
    partition = None if topic is None else topic.partitions.get(broker.groups.partition_for(group_id))
    leader = None if partition is None else image.brokers.get(partition.leader)
    if leader is None or leader.fenced:
        raise CoordinatorNotAvailable(f"the group's partition of {GROUP_TOPIC} has no leader")
    endpoint = endpoint_for(leader, context.client)
    if endpoint is None:
        raise CoordinatorNotAvailable(f"broker {leader.id} has no listener {context.client.listener_name}")
    return Coordinator(
        key=group_id, node_id=leader.id, host=endpoint.host, port=endpoint.port, error_code=ErrorCode.none
    )
