"""DescribeAcls (1-3): SECURITY_DISABLED, as from Kafka without an authorizer."""

from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


def handle(context: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    return DescribeAclsResponse(
        error_code=ErrorCode.security_disabled, error_message="No Authorizer is configured on the broker"
    )
