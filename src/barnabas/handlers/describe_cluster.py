"""DescribeCluster (0-2): the cluster's id, controller and brokers.

From version 1 on, a client says which type of endpoint it expects; this is a broker's. From version 2 on, fenced
brokers are included on request.
"""

from barnabas.handlers.authorized_operations import CLUSTER_OPERATIONS, NOT_REQUESTED
from barnabas.handlers.context import RequestContext
from barnabas.handlers.endpoints import endpoint_for
from barnabas.handlers.services import Cluster
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS, CONTROLLERS = 1, 2


def handle(cluster: Cluster, context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if request.endpoint_type not in (BROKERS, CONTROLLERS):
        return DescribeClusterResponse(
            error_code=ErrorCode.unsupported_endpoint_type,
            error_message=f"Unsupported endpoint type {request.endpoint_type}",
        )
    if request.endpoint_type == CONTROLLERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.mismatched_endpoint_type,
            error_message="The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type"
            " CONTROLLER",
        )
    return DescribeClusterResponse(
        cluster_id=cluster.cluster_id,
        # As in Metadata: clients can send controller requests to the broker they are connected to.
        controller_id=cluster.node_id,
        brokers=tuple(
            DescribeClusterBroker(
                broker_id=broker.id,
                host=endpoint.host,
                port=endpoint.port,
                rack=broker.rack,
                is_fenced=broker.fenced,
            )
            for broker in cluster.image.brokers.values()
            if (request.include_fenced_brokers or not broker.fenced)
            and (endpoint := endpoint_for(broker, context.client)) is not None
        ),
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_REQUESTED
        ),
    )
