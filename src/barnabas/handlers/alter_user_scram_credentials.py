"""AlterUserScramCredentials (0): set or delete users' SCRAM credentials; a request may name each user only once."""

from barnabas.controller.scram_credentials import decide_alter_user_scram_credentials
from barnabas.handlers.context import RequestContext
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)


async def handle(
    context: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    return await context.broker.controller.decide(lambda image: decide_alter_user_scram_credentials(image, request))
