"""What the client says about a failure, as this room says it."""

from barnabas.client.errors import ClientError
from barnabas.spark.errors import UserError


def for_people(failure: ClientError) -> UserError:
    return UserError(f"{failure.message[:1].upper()}{failure.message[1:]}.", failure.hint)
