"""ConsumerGroupHeartbeat (0-1): members of consumer groups (KIP-848) join, stay, change their subscription and leave.

In version 0 the coordinator generates the id of a new member, from version 1 on the client does. Version 1 also adds
subscriptions by regular expression. Served while the feature `group.version` is 1 and
`group.coordinator.rebalance.protocols` includes `consumer`.

Unlike in Kafka, a regular expression that is new to the group is resolved at once, not in the next ten-second batch.
Unicode properties other than categories, `Latin`, `Common` and `Any` are refused: none of them matches a character
that a topic name may contain.
"""

from collections.abc import Awaitable
from typing import Final

from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group.common.record_format import TEXT_BYTES_MAX, fits
from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Cluster
from barnabas.metadata.features import GROUP_VERSION
from barnabas.wire.errors import InvalidRequest, KafkaError, UnsupportedAssignor, UnsupportedVersion
from barnabas.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

_CLIENT_MAKES_ID_SINCE: Final = 1
_JOINS, _LEAVES, _LEAVES_TEMPORARILY = 0, -1, -2


def handle(
    cluster: Cluster, groups: GroupCoordinator, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse | Awaitable[ConsumerGroupHeartbeatResponse]:
    try:
        check_enabled(cluster, groups)
        _check(groups, request, context.api_version)
        client = ClientInfo(context.client_id or "", f"/{context.client.host}")
        outcome = groups.consumer_heartbeat(request, client)
    except KafkaError as error:
        return _failed(error)
    return outcome if isinstance(outcome, ConsumerGroupHeartbeatResponse) else _when_stored(outcome)


def check_enabled(cluster: Cluster, groups: GroupCoordinator) -> None:
    if cluster.image.features.get(GROUP_VERSION, 0) < 1:
        raise UnsupportedVersion("the feature group.version is not 1; raise it to use consumer groups")
    if not groups.serves_consumer_protocol:
        raise UnsupportedVersion("group.coordinator.rebalance.protocols does not include consumer; add it")


async def _when_stored(response: Awaitable[ConsumerGroupHeartbeatResponse]) -> ConsumerGroupHeartbeatResponse:
    try:
        return await response
    except KafkaError as error:
        return _failed(error)


def _failed(error: KafkaError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=str(error))


def _check(groups: GroupCoordinator, request: ConsumerGroupHeartbeatRequest, api_version: int) -> None:
    epoch = request.member_epoch
    if api_version >= _CLIENT_MAKES_ID_SINCE or epoch > 0 or epoch == _LEAVES:
        _check_text("MemberId", request.member_id)
    if not fits(request.member_id):
        raise InvalidRequest(f"MemberId has more than {TEXT_BYTES_MAX} bytes.")
    _check_text("GroupId", request.group_id)
    _check_text("InstanceId", request.instance_id)
    _check_text("RackId", request.rack_id)
    if epoch == _JOINS:
        if request.rebalance_timeout.total_seconds() < 0:
            raise InvalidRequest("RebalanceTimeoutMs must be provided in first request.")
        if request.topic_partitions is None or request.topic_partitions:
            raise InvalidRequest("TopicPartitions must be empty when (re-)joining.")
        if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
            raise InvalidRequest(
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
            )
    elif epoch == _LEAVES_TEMPORARILY:
        if request.instance_id is None:
            raise InvalidRequest("InstanceId can't be null.")
    elif epoch < _LEAVES_TEMPORARILY:
        raise InvalidRequest("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in groups.assignors:
        raise UnsupportedAssignor(
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(groups.assignors)}."
        )


def _check_text(name: str, value: str | None) -> None:
    if value is not None and not value.strip():
        raise InvalidRequest(f"{name} can't be empty.")
