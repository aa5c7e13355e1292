"""Heartbeat (0-4): a member of a group lives, and hears whether it has to join again."""

from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    try:
        return context.broker.groups.heartbeat(request)
    except KafkaError as error:
        return HeartbeatResponse(error_code=error.code)
