"""CreateAcls (1-3): SECURITY_DISABLED for each ACL, as from Kafka without an authorizer."""

from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse

_REFUSED = AclCreationResult(error_code=ErrorCode.security_disabled, error_message="No Authorizer is configured.")


def handle(context: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    return CreateAclsResponse(results=(_REFUSED,) * len(request.creations))
