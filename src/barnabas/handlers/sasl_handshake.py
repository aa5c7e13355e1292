"""SaslHandshake (0-1): refused. On a PLAINTEXT listener no client says who it is, and Kafka answers so too."""

from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(context: RequestContext, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.illegal_sasl_state)
