"""AlterConfigs (0-2): replace all configs of a topic or broker; configs that are not named return to their defaults.

Prefer IncrementalAlterConfigs. Broker loggers are refused: log levels have no default to return to.
"""

from operator import attrgetter

from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResourceResponse, AlterConfigsResponse

PIECES = (Pieces("resources", answers="responses", size=100, together=attrgetter("resource_type", "resource_name")),)


async def handle(context: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    try:
        return await context.broker.controller.alter_configs(request)
    except KafkaError as error:
        return AlterConfigsResponse(
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
