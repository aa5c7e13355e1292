"""DeleteTopics (1-6): by name, or from version 6 by id.

Versions before 3 do not know TOPIC_DELETION_DISABLED; they get INVALID_REQUEST instead.
"""

from collections.abc import Sequence
from operator import attrgetter

from barnabas.controller.controller import Controller
from barnabas.controller.decisions.delete_topics import topics_to_delete
from barnabas.handlers.context import RequestContext
from barnabas.handlers.mutation_quota import MutationQuota
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Quotas
from barnabas.metadata.image import TopicImage
from barnabas.wire.errors import InvalidRequest, KafkaError, TopicDeletionDisabled
from barnabas.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

_DISABLED_SINCE = 3

PIECES = (
    Pieces("topics", answers="responses", size=50, together=attrgetter("name", "topic_id")),
    Pieces("topic_names", answers="responses", size=50, together=str),
)


async def handle(
    quotas: Quotas, controller: Controller, context: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    quota = MutationQuota(quotas, context, strict_since=5)
    wanted = topics_to_delete(request)
    outcomes: Sequence[TopicImage | KafkaError]
    try:
        outcomes = await controller.delete_topics(request, quota.spend)
    except KafkaError as error:
        outcomes = [error] * len(wanted)
    return DeleteTopicsResponse(
        throttle_time=quota.throttle_time,
        responses=tuple(
            _result(context.api_version, topic, outcome) for topic, outcome in zip(wanted, outcomes, strict=True)
        ),
    )


def _result(api_version: int, wanted: DeleteTopicState, outcome: TopicImage | KafkaError) -> DeletableTopicResult:
    if isinstance(outcome, TopicImage):
        return DeletableTopicResult(name=outcome.name, topic_id=outcome.id)
    code = outcome.code
    if isinstance(outcome, TopicDeletionDisabled) and api_version < _DISABLED_SINCE:
        code = InvalidRequest.code
    return DeletableTopicResult(name=wanted.name, topic_id=wanted.topic_id, error_code=code, error_message=str(outcome))
