"""SaslHandshake (0-1): refused, as from Kafka on a PLAINTEXT listener."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Runtime
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(runtime: Runtime, context: RequestContext, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    client = context.client
    runtime.client_warnings.warn(
        (client.host, "SASL"),
        "%s tries to log in with SASL (%.40s) at listener %s, which has no logins; set security.protocol=PLAINTEXT"
        " in the client",
        client.host,
        request.mechanism,
        client.listener_name,
    )
    return SaslHandshakeResponse(error_code=ErrorCode.illegal_sasl_state)
