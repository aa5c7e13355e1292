"""IncrementalAlterConfigs (0-1): set, delete, append to or subtract from single configs of a resource.

The controller decides on topics, brokers, groups and client metrics subscriptions. Log levels belong to this process
and are lost when it ends. Unlike in Kafka, any broker accepts changes to any registered broker's configs.
"""

from operator import attrgetter

from barnabas.handlers.context import Broker, RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.metadata.image import BROKER_LOGGER
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

PIECES = (Pieces("resources", answers="responses", size=100, together=attrgetter("resource_type", "resource_name")),)


async def handle(context: RequestContext, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    loggers = [resource for resource in request.resources if resource.resource_type == BROKER_LOGGER]
    if not loggers:
        return await _decide(context, request)
    rest = IncrementalAlterConfigsRequest(
        resources=tuple(each for each in request.resources if each.resource_type != BROKER_LOGGER),
        validate_only=request.validate_only,
    )
    logger_results = tuple(
        _alter_loggers(context.broker, each, validate_only=request.validate_only) for each in loggers
    )
    if not rest.resources:
        return IncrementalAlterConfigsResponse(responses=logger_results)
    decided = await _decide(context, rest)
    return decided.replace(responses=logger_results + decided.responses)


async def _decide(context: RequestContext, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    try:
        return await context.broker.controller.incremental_alter_configs(request)
    except KafkaError as error:
        return IncrementalAlterConfigsResponse(
            responses=tuple(_refused(resource, error) for resource in request.resources)
        )


def _alter_loggers(
    broker: Broker, resource: AlterConfigsResource, *, validate_only: bool
) -> AlterConfigsResourceResponse:
    from barnabas.handlers.broker_loggers import alter_loggers

    try:
        alter_loggers(broker.node_id, resource.resource_name, resource.configs, validate_only=validate_only)
    except KafkaError as error:
        return _refused(resource, error)
    return AlterConfigsResourceResponse(resource_type=BROKER_LOGGER, resource_name=resource.resource_name)


def _refused(resource: AlterConfigsResource, error: KafkaError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=error.code,
        error_message=str(error),
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
