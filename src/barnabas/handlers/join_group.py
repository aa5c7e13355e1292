"""JoinGroup (0-9): become a member of a group; answered when the group's rebalance is complete.

From version 4 on, a dynamic member first gets its id with MEMBER_ID_REQUIRED, then joins with it. Version 9 lets a
returning static leader skip the assignment. If a member sends another JoinGroup before the first is answered, the
first gets REBALANCE_IN_PROGRESS; Apache Kafka never answers it.
"""

from barnabas.coordinator.group.classic.join import MemberIdAssigned
from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import ErrorCode, KafkaError
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

_PROTOCOL_NAME_NULLABLE_SINCE = 7


async def handle(groups: GroupCoordinator, context: RequestContext, request: JoinGroupRequest) -> JoinGroupResponse:
    # Java prints an address without a host name with a leading slash; Kafka's tools show and expect it.
    client = ClientInfo(context.client_id or "", f"/{context.client.host}")
    try:
        return await groups.join(request, client, context.api_version)
    except MemberIdAssigned as assigned:
        return _refused(context, assigned.code, assigned.member_id)
    except KafkaError as error:
        return _refused(context, error.code, request.member_id)


def _refused(context: RequestContext, code: ErrorCode, member_id: str) -> JoinGroupResponse:
    protocol = None if context.api_version >= _PROTOCOL_NAME_NULLABLE_SINCE else ""
    return JoinGroupResponse(error_code=code, member_id=member_id, protocol_name=protocol)
