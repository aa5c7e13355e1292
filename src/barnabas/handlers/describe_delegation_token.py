"""DescribeDelegationToken (1-3): refused, as from Kafka on a PLAINTEXT listener. There are no tokens."""

from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)


def handle(context: RequestContext, request: DescribeDelegationTokenRequest) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=ErrorCode.delegation_token_request_not_allowed)
