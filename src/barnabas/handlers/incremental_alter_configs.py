"""IncrementalAlterConfigs (0-1): set, delete, append to or subtract from single configs of a resource.

The controller decides on topics, brokers, groups and client metrics subscriptions. Log levels belong to this process
and are lost when it ends. Unlike in Kafka, any broker accepts changes to any registered broker's configs.
"""

from collections.abc import Sequence
from operator import attrgetter

from barnabas.controller.controller import Controller
from barnabas.handlers.context import RequestContext
from barnabas.handlers.outcomes import error_fields
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Cluster
from barnabas.metadata.image import BROKER_LOGGER
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

PIECES = (Pieces("resources", answers="responses", size=100, together=attrgetter("resource_type", "resource_name")),)


async def handle(
    cluster: Cluster, controller: Controller, context: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    loggers = tuple(each for each in request.resources if each.resource_type == BROKER_LOGGER)
    others = tuple(each for each in request.resources if each.resource_type != BROKER_LOGGER)
    outcomes = [_alter_loggers(cluster.node_id, each, validate_only=request.validate_only) for each in loggers]
    if others:
        outcomes += await _decide(controller, request.replace(resources=others))
    return IncrementalAlterConfigsResponse(
        responses=tuple(
            AlterConfigsResourceResponse(
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                **error_fields(error),
            )
            for resource, error in zip(loggers + others, outcomes, strict=True)
        )
    )


async def _decide(controller: Controller, request: IncrementalAlterConfigsRequest) -> Sequence[KafkaError | None]:
    try:
        return await controller.incremental_alter_configs(request)
    except KafkaError as error:
        return [error] * len(request.resources)


def _alter_loggers(node_id: int, resource: AlterConfigsResource, *, validate_only: bool) -> KafkaError | None:
    from barnabas.handlers.broker_loggers import alter_loggers

    try:
        alter_loggers(node_id, resource.resource_name, resource.configs, validate_only=validate_only)
    except KafkaError as error:
        return error
    return None
