"""SyncGroup (0-5): the group leader sends the assignment; each member gets its part once it is stored.

From version 5 on, the protocol type and name are mandatory.
"""

from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import InconsistentGroupProtocol, KafkaError
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_PROTOCOL_MANDATORY_SINCE = 5


async def handle(groups: GroupCoordinator, context: RequestContext, request: SyncGroupRequest) -> SyncGroupResponse:
    if context.api_version >= _PROTOCOL_MANDATORY_SINCE and None in (request.protocol_type, request.protocol_name):
        return SyncGroupResponse(error_code=InconsistentGroupProtocol.code)
    try:
        return await groups.sync(request)
    except KafkaError as error:
        return SyncGroupResponse(error_code=error.code)
