"""DescribeGroups (0-6): classic groups and their members. Before version 6, a missing group is reported as Dead."""

from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.handlers.authorized_operations import GROUP_OPERATIONS, NOT_REQUESTED
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.wire.errors import GroupIdNotFound, KafkaError
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse

_NOT_FOUND_SINCE = 6
_DEAD = "Dead"

PIECES = (Pieces("groups", answers="groups", size=20),)


async def handle(
    groups: GroupCoordinator, context: RequestContext, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_REQUESTED
    described = [await _describe(groups, context, group_id) for group_id in request.groups]
    return DescribeGroupsResponse(groups=tuple(group.replace(authorized_operations=operations) for group in described))


async def _describe(groups: GroupCoordinator, context: RequestContext, group_id: str) -> DescribedGroup:
    try:
        return await groups.describe(group_id)
    except GroupIdNotFound as error:
        if context.api_version < _NOT_FOUND_SINCE:
            return DescribedGroup(group_id=group_id, group_state=_DEAD)
        return DescribedGroup(group_id=group_id, group_state=_DEAD, error_code=error.code, error_message=str(error))
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code, error_message=str(error))
