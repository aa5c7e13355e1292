"""CreateTopics (2-7): the controller decides, topic by topic.

Answers when the topics are committed and this broker leads their partitions, whatever timeout the client gave. If the
decision could not be committed, every topic carries the error.
"""

from operator import attrgetter

from barnabas.handlers.context import RequestContext
from barnabas.handlers.mutation_quota import with_mutation_quota
from barnabas.handlers.pieces import Pieces
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse

PIECES = (Pieces("topics", answers="topics", size=100, together=attrgetter("name")),)


async def handle(context: RequestContext, request: CreateTopicsRequest) -> CreateTopicsResponse:
    try:
        return await with_mutation_quota(
            context, lambda spend: context.broker.controller.create_topics(request, spend), strict_since=6
        )
    except KafkaError as error:
        return CreateTopicsResponse(
            topics=tuple(
                CreatableTopicResult(name=topic.name, error_code=error.code, error_message=str(error), configs=())
                for topic in request.topics
            )
        )
