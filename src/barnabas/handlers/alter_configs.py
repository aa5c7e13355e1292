"""AlterConfigs (0-2): replace all configs of a topic or broker; configs that are not named return to their defaults.

Prefer IncrementalAlterConfigs. Broker loggers are refused: log levels have no default to return to.
"""

from collections.abc import Sequence
from operator import attrgetter

from barnabas.controller.controller import Controller
from barnabas.handlers.context import RequestContext
from barnabas.handlers.outcomes import error_fields
from barnabas.handlers.pieces import Pieces
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResourceResponse, AlterConfigsResponse

PIECES = (Pieces("resources", answers="responses", size=100, together=attrgetter("resource_type", "resource_name")),)


async def handle(controller: Controller, context: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    outcomes: Sequence[KafkaError | None]
    try:
        outcomes = await controller.alter_configs(request)
    except KafkaError as error:
        outcomes = [error] * len(request.resources)
    return AlterConfigsResponse(
        responses=tuple(
            AlterConfigsResourceResponse(
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                **error_fields(error),
            )
            for resource, error in zip(request.resources, outcomes, strict=True)
        )
    )
