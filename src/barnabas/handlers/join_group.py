"""JoinGroup (0-9): become a member of a group; answered when the group's rebalance is complete.

From version 4 on, a dynamic member is handed its id with MEMBER_ID_REQUIRED first and joins with it. Version 9 can tell
a returning static leader that its assignment is not wanted. A JoinGroup that a later one of the same member replaces is
answered with REBALANCE_IN_PROGRESS; Apache Kafka leaves it open.
"""

from barnabas.coordinator.group.join import MemberIdHandedOut
from barnabas.coordinator.group.member import ClientInfo
from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import ErrorCode, KafkaError
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

_PROTOCOL_NAME_NULLABLE_SINCE = 7


async def handle(context: RequestContext, request: JoinGroupRequest) -> JoinGroupResponse:
    # The slash is how Java prints an address without a name: what tools for Kafka show and expect.
    client = ClientInfo(context.client_id or "", f"/{context.client.host}")
    try:
        return await context.broker.groups.join(request, client, context.api_version)
    except MemberIdHandedOut as handed_out:
        return _refused(context, handed_out.code, handed_out.member_id)
    except KafkaError as error:
        return _refused(context, error.code, request.member_id)


def _refused(context: RequestContext, code: ErrorCode, member_id: str) -> JoinGroupResponse:
    protocol = None if context.api_version >= _PROTOCOL_NAME_NULLABLE_SINCE else ""
    return JoinGroupResponse(error_code=code, member_id=member_id, protocol_name=protocol)
