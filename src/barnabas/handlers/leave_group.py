"""LeaveGroup (0-5): remove members. Versions 0-2 name one member, later ones several, static members by instance id."""

from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity

_BATCH_SINCE = 3


async def handle(context: RequestContext, request: LeaveGroupRequest) -> LeaveGroupResponse:
    one = context.api_version < _BATCH_SINCE
    members = (MemberIdentity(member_id=request.member_id),) if one else request.members
    try:
        response = await context.broker.groups.leave(LeaveGroupRequest(group_id=request.group_id, members=members))
    except KafkaError as error:
        return LeaveGroupResponse(error_code=error.code)
    return LeaveGroupResponse(error_code=response.members[0].error_code) if one else response
