"""DescribeGroups (0-6): classic groups and their members. Before version 6, a missing group is reported as Dead."""

from barnabas.handlers.authorized_operations import GROUP_OPERATIONS, NOT_REQUESTED
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.wire.errors import ErrorCode, GroupIdNotFound, KafkaError
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse

_NOT_FOUND_SINCE = 6

PIECES = (Pieces("groups", answers="groups", size=20),)


async def handle(context: RequestContext, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_REQUESTED
    groups = [await _describe(context, group_id) for group_id in request.groups]
    return DescribeGroupsResponse(groups=tuple(group.replace(authorized_operations=operations) for group in groups))


async def _describe(context: RequestContext, group_id: str) -> DescribedGroup:
    try:
        group = await context.broker.groups.describe(group_id)
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code, error_message=str(error))
    if group.error_code == GroupIdNotFound.code and context.api_version < _NOT_FOUND_SINCE:
        return group.replace(error_code=ErrorCode.none, error_message=None)
    return group
