"""DeleteTopics (1-6): by name, or from version 6 by id.

Versions before 3 do not know TOPIC_DELETION_DISABLED; they get INVALID_REQUEST instead.
"""

from operator import attrgetter

from barnabas.handlers.context import RequestContext
from barnabas.handlers.mutation_quota import with_mutation_quota
from barnabas.handlers.pieces import Pieces
from barnabas.wire.errors import ErrorCode, KafkaError
from barnabas.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

PIECES = (
    Pieces("topics", answers="responses", size=50, together=attrgetter("name", "topic_id")),
    Pieces("topic_names", answers="responses", size=50, together=str),
)


async def handle(context: RequestContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    try:
        response = await with_mutation_quota(
            context, lambda spend: context.broker.controller.delete_topics(request, spend), strict_since=5
        )
    except KafkaError as error:
        return _all_failed(request, error)
    if context.api_version >= 3:
        return response
    return response.replace(
        responses=tuple(
            result.replace(error_code=ErrorCode.invalid_request)
            if result.error_code is ErrorCode.topic_deletion_disabled
            else result
            for result in response.responses
        ),
    )


def _all_failed(request: DeleteTopicsRequest, error: KafkaError) -> DeleteTopicsResponse:
    wanted = [*(DeleteTopicState(name=name) for name in request.topic_names), *request.topics]
    return DeleteTopicsResponse(
        responses=tuple(
            DeletableTopicResult(
                name=topic.name, topic_id=topic.topic_id, error_code=error.code, error_message=str(error)
            )
            for topic in wanted
        )
    )
