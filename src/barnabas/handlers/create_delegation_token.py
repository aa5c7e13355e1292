"""CreateDelegationToken (1-3): refused. Only an authenticated client may get a token, and no client can authenticate.

Kafka answers the same on a PLAINTEXT listener, with or without a secret key for tokens.
"""

import datetime
from typing import Final

from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse

NO_TIME: Final = datetime.datetime.fromtimestamp(0, datetime.UTC) - datetime.timedelta(milliseconds=1)
"""Kafka's -1: no timestamp."""

ANONYMOUS: Final = "ANONYMOUS"


def handle(context: RequestContext, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    return CreateDelegationTokenResponse(
        error_code=ErrorCode.delegation_token_request_not_allowed,
        principal_type="User",
        principal_name=ANONYMOUS,
        token_requester_principal_type="User",
        token_requester_principal_name=ANONYMOUS,
        issue_timestamp=NO_TIME,
        expiry_timestamp=NO_TIME,
        max_timestamp=NO_TIME,
    )
