"""DeleteAcls (1-3): SECURITY_DISABLED for each filter, as from Kafka without an authorizer."""

from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse

_REFUSED = DeleteAclsFilterResult(error_code=ErrorCode.security_disabled, error_message="No Authorizer is configured.")


def handle(context: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=(_REFUSED,) * len(request.filters))
