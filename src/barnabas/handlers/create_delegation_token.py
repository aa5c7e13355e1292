"""CreateDelegationToken (1-3): refused. A token is given to a client that has proved who it is, and none can here.

Kafka answers the same on a PLAINTEXT listener, whether or not it has a secret key to make tokens with.
"""

import datetime
from typing import Final

from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse

NO_TIME: Final = datetime.datetime.fromtimestamp(0, datetime.UTC) - datetime.timedelta(milliseconds=1)
"""Kafka's -1, which stands for no time."""

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
