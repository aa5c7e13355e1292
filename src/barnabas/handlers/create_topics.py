"""CreateTopics (2-7): the controller decides, topic by topic.

Answers when the topics are committed and this broker leads their partitions, whatever timeout the client gave. If the
decision could not be committed, every topic carries the error.
"""

from collections.abc import Sequence
from operator import attrgetter

from barnabas.controller.controller import Controller
from barnabas.controller.decisions.create_topics import CreatedTopic
from barnabas.handlers.context import RequestContext
from barnabas.handlers.mutation_quota import MutationQuota
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Quotas
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.create_topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

PIECES = (Pieces("topics", answers="topics", size=100, together=attrgetter("name")),)


async def handle(
    quotas: Quotas, controller: Controller, context: RequestContext, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    quota = MutationQuota(quotas, context, strict_since=6)
    outcomes: Sequence[CreatedTopic | KafkaError]
    try:
        outcomes = await controller.create_topics(request, quota.spend)
    except KafkaError as error:
        outcomes = [error] * len(request.topics)
    return CreateTopicsResponse(
        throttle_time=quota.throttle_time,
        topics=tuple(_result(topic.name, outcome) for topic, outcome in zip(request.topics, outcomes, strict=True)),
    )


def _result(name: str, outcome: CreatedTopic | KafkaError) -> CreatableTopicResult:
    if isinstance(outcome, KafkaError):
        return CreatableTopicResult(name=name, error_code=outcome.code, error_message=str(outcome), configs=())
    return CreatableTopicResult(
        name=name,
        topic_id=outcome.topic_id,
        num_partitions=outcome.partition_count,
        replication_factor=outcome.replication_factor,
        configs=tuple(
            CreatableTopicConfigs(
                name=key, value=entry.value, config_source=entry.source, is_sensitive=entry.definition.is_sensitive
            )
            for key, entry in outcome.configs.items()
        ),
    )
