"""AlterUserScramCredentials (0): set or delete users' SCRAM credentials; a request may name each user only once."""

from barnabas.controller.controller import Controller
from barnabas.controller.decisions.scram_credentials import decide_alter_user_scram_credentials
from barnabas.handlers.context import RequestContext
from barnabas.handlers.outcomes import error_fields
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)


async def handle(
    controller: Controller, context: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    outcomes = await controller.decide(lambda image: decide_alter_user_scram_credentials(image, request))
    return AlterUserScramCredentialsResponse(
        results=tuple(
            AlterUserScramCredentialsResult(user=user, **error_fields(error))
            for user, error in sorted(outcomes.items())
        )
    )
