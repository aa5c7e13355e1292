"""IncrementalAlterConfigs (0-1): set, delete, append to or subtract from single configs of topics and brokers.

Broker loggers, client metrics and groups are refused. Unlike with Kafka, any registered broker's configs may be altered
through any other broker.
"""

from operator import attrgetter

from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

PIECES = (Pieces("resources", answers="responses", size=100, together=attrgetter("resource_type", "resource_name")),)


async def handle(context: RequestContext, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    try:
        return await context.broker.controller.incremental_alter_configs(request)
    except KafkaError as error:
        return IncrementalAlterConfigsResponse(
            responses=tuple(
                AlterConfigsResourceResponse(
                    error_code=error.code,
                    error_message=str(error),
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
                for resource in request.resources
            )
        )
