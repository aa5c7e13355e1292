"""ConsumerGroupDescribe (0-1): consumer groups (KIP-848), their members, current and target assignments."""

from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.handlers.authorized_operations import GROUP_OPERATIONS, NOT_REQUESTED
from barnabas.handlers.consumer_group_heartbeat import check_enabled
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Cluster
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

PIECES = (Pieces("group_ids", answers="groups", size=20),)


async def handle(
    cluster: Cluster, groups: GroupCoordinator, context: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_REQUESTED
    described = [await _describe(cluster, groups, group_id) for group_id in request.group_ids]
    return ConsumerGroupDescribeResponse(
        groups=tuple(
            group if group.error_code else group.replace(authorized_operations=operations) for group in described
        )
    )


async def _describe(cluster: Cluster, groups: GroupCoordinator, group_id: str) -> DescribedGroup:
    try:
        check_enabled(cluster, groups)
        return await groups.describe_consumer_group(group_id)
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code, error_message=str(error))
