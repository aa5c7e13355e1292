"""LeaveGroup (0-5): remove members. Versions 0-2 name one member, later ones several, static members by instance id."""

from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.handlers.outcomes import error_code
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse

_BATCH_SINCE = 3


async def handle(groups: GroupCoordinator, context: RequestContext, request: LeaveGroupRequest) -> LeaveGroupResponse:
    one = context.api_version < _BATCH_SINCE
    members = (MemberIdentity(member_id=request.member_id),) if one else request.members
    try:
        left = await groups.leave(LeaveGroupRequest(group_id=request.group_id, members=members))
    except KafkaError as error:
        return LeaveGroupResponse(error_code=error.code)
    codes = [error_code(error) for error in left]
    if one:
        return LeaveGroupResponse(error_code=codes[0])
    return LeaveGroupResponse(
        members=tuple(
            MemberResponse(member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=code)
            for member, code in zip(members, codes, strict=True)
        )
    )
