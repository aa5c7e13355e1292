"""RenewDelegationToken (1-2): refused, as from Kafka on a PLAINTEXT listener. There are no tokens to renew."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.create_delegation_token import NO_TIME
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse


def handle(context: RequestContext, request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(
        error_code=ErrorCode.delegation_token_request_not_allowed, expiry_timestamp=NO_TIME
    )
