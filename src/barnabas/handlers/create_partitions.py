"""CreatePartitions (0-3): more partitions for a topic, placed by the controller or as the client says."""

from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)


async def handle(context: RequestContext, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    try:
        return await context.broker.controller.create_partitions(request)
    except KafkaError as error:
        return CreatePartitionsResponse(
            results=tuple(
                CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=str(error))
                for topic in request.topics
            )
        )
