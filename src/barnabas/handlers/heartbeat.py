"""Heartbeat (0-4): keeps a group member's session alive; the answer says whether the member must rejoin."""

from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    try:
        return context.broker.groups.heartbeat(request)
    except KafkaError as error:
        return HeartbeatResponse(error_code=error.code)
