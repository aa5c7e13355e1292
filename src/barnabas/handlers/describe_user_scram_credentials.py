"""DescribeUserScramCredentials (0): which users have SCRAM credentials, by mechanism; never the credentials themselves.

They are stored for SASL listeners; PLAINTEXT listeners do not use them.
"""

from collections import Counter

from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Cluster
from barnabas.wire.errors import DuplicateResource, KafkaError, ResourceNotFound
from barnabas.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


def handle(
    cluster: Cluster, context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    asked = Counter(user.name for user in request.users or ())
    users = asked or Counter({user: 1 for user, _ in cluster.image.access.scram_credentials})
    return DescribeUserScramCredentialsResponse(
        error_message="",
        results=tuple(_describe(cluster, user, times) for user, times in sorted(users.items())),
    )


def _describe(cluster: Cluster, user: str, times: int) -> DescribeUserScramCredentialsResult:
    try:
        if times > 1:
            raise DuplicateResource(
                f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
            )
        found = [
            CredentialInfo(mechanism=mechanism, iterations=credential.iterations)
            for (name, mechanism), credential in sorted(cluster.image.access.scram_credentials.items())
            if name == user
        ]
        if not found:
            raise ResourceNotFound(f"Attempt to describe a user credential that does not exist: {user}")
    except KafkaError as error:
        return DescribeUserScramCredentialsResult(user=user, error_code=error.code, error_message=str(error))
    return DescribeUserScramCredentialsResult(user=user, error_message="", credential_infos=tuple(found))
