"""ShareGroupDescribe (1): share groups, their members and assignments."""

from barnabas.handlers.authorized_operations import GROUP_OPERATIONS
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Cluster
from barnabas.handlers.share_services import ShareServices
from barnabas.handlers.share_version import check_share_groups
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

PIECES = (Pieces("group_ids", answers="groups", size=20),)


async def handle(
    cluster: Cluster, share: ShareServices, context: RequestContext, request: ShareGroupDescribeRequest
) -> ShareGroupDescribeResponse:
    groups = [await _describe(cluster, share, group_id) for group_id in request.group_ids]
    if request.include_authorized_operations:
        groups = [group.replace(authorized_operations=GROUP_OPERATIONS) for group in groups]
    return ShareGroupDescribeResponse(groups=tuple(groups))


async def _describe(cluster: Cluster, share: ShareServices, group_id: str) -> DescribedGroup:
    try:
        check_share_groups(cluster)
        return await share.groups.describe(group_id)
    except KafkaError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code, error_message=str(error))
