"""ShareGroupHeartbeat (1): a member of a share group joins, stays, changes its subscription or leaves.

A new member gets its assignment with the first answer; Kafka sends it with the second.
"""

from barnabas.coordinator.group.common.client import ClientInfo
from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Cluster
from barnabas.handlers.share_services import ShareServices
from barnabas.handlers.share_version import check_share_groups
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse


async def handle(
    cluster: Cluster, share: ShareServices, context: RequestContext, request: ShareGroupHeartbeatRequest
) -> ShareGroupHeartbeatResponse:
    try:
        check_share_groups(cluster)
        client = ClientInfo(context.client_id or "", f"/{context.client.host}")
        return await share.groups.heartbeat(request, client)
    except KafkaError as error:
        return ShareGroupHeartbeatResponse(error_code=error.code, error_message=str(error))
