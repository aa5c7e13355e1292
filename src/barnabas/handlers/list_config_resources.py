"""ListConfigResources (0-1): the names of config resources, by type; version 0 lists client metrics only.

All topics and brokers are listed; groups and client metrics only if they have configs of their own.
"""

from typing import Final

from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Cluster
from barnabas.metadata.image import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

_LISTED: Final = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)


def handle(
    cluster: Cluster, context: RequestContext, request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    wanted = set(request.resource_types) or set(_LISTED)
    if context.api_version == 0:
        wanted = {CLIENT_METRICS}
    if not wanted <= set(_LISTED):
        return ListConfigResourcesResponse(error_code=ErrorCode.unsupported_version)
    return ListConfigResourcesResponse(
        config_resources=tuple(
            ConfigResource(resource_name=name, resource_type=resource_type)
            for resource_type in _LISTED
            if resource_type in wanted
            for name in _names(cluster, resource_type)
        )
    )


def _names(cluster: Cluster, resource_type: int) -> list[str]:
    image = cluster.image
    if resource_type == TOPIC:
        return list(image.topics.by_name)
    if resource_type in (BROKER, BROKER_LOGGER):
        return [str(broker_id) for broker_id in image.brokers]
    return [name for kind, name in image.configs.by_resource if kind == resource_type]
