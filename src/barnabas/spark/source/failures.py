"""Turns errors of the client into errors for users."""

from barnabas.client.errors import ClientError
from barnabas.spark.errors import UserError


def to_user_error(failure: ClientError) -> UserError:
    return UserError(f"{failure.message[:1].upper()}{failure.message[1:]}.", failure.hint)
