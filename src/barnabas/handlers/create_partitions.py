"""CreatePartitions (0-3): add partitions to a topic, placed by the controller or as the client asks."""

from collections.abc import Sequence
from operator import attrgetter

from barnabas.controller.controller import Controller
from barnabas.handlers.context import RequestContext
from barnabas.handlers.mutation_quota import MutationQuota
from barnabas.handlers.outcomes import error_fields
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Quotas
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)

PIECES = (Pieces("topics", answers="results", size=100, together=attrgetter("name")),)


async def handle(
    quotas: Quotas, controller: Controller, context: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    quota = MutationQuota(quotas, context, strict_since=3)
    outcomes: Sequence[KafkaError | None]
    try:
        outcomes = await controller.create_partitions(request, quota.spend)
    except KafkaError as error:
        outcomes = [error] * len(request.topics)
    return CreatePartitionsResponse(
        throttle_time=quota.throttle_time,
        results=tuple(
            CreatePartitionsTopicResult(name=topic.name, **error_fields(error))
            for topic, error in zip(request.topics, outcomes, strict=True)
        ),
    )
