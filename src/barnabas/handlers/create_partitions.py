"""CreatePartitions (0-3): add partitions to a topic, placed by the controller or as the client asks."""

from operator import attrgetter

from barnabas.handlers.context import RequestContext
from barnabas.handlers.mutation_quota import with_mutation_quota
from barnabas.handlers.pieces import Pieces
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)

PIECES = (Pieces("topics", answers="results", size=100, together=attrgetter("name")),)


async def handle(context: RequestContext, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    try:
        return await with_mutation_quota(
            context, lambda spend: context.broker.controller.create_partitions(request, spend), strict_since=3
        )
    except KafkaError as error:
        return CreatePartitionsResponse(
            results=tuple(
                CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=str(error))
                for topic in request.topics
            )
        )
