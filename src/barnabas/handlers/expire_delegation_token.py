"""ExpireDelegationToken (1-2): refused, as from Kafka on a PLAINTEXT listener. There are no tokens to expire."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.create_delegation_token import NO_TIME
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse


def handle(context: RequestContext, request: ExpireDelegationTokenRequest) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(
        error_code=ErrorCode.delegation_token_request_not_allowed, expiry_timestamp=NO_TIME
    )
