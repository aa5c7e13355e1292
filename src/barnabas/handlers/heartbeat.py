"""Heartbeat (0-4): keeps a group member's session alive; the answer says whether the member must rejoin."""

from collections.abc import Awaitable

from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(
    groups: GroupCoordinator, context: RequestContext, request: HeartbeatRequest
) -> HeartbeatResponse | Awaitable[HeartbeatResponse]:
    try:
        answer = groups.heartbeat(request)
    except KafkaError as error:
        return HeartbeatResponse(error_code=error.code)
    return answer if isinstance(answer, HeartbeatResponse) else _when_loaded(answer)


async def _when_loaded(answer: Awaitable[HeartbeatResponse]) -> HeartbeatResponse:
    try:
        return await answer
    except KafkaError as error:
        return HeartbeatResponse(error_code=error.code)
