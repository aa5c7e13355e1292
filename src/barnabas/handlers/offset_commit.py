"""OffsetCommit (2-10): commit a group's offsets. Version 10 names topics by id.

Each partition that does not exist gets its own error; a group-level error is the answer for all the others.
"""

from collections.abc import Awaitable, Iterator, Sequence

from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.topic_lookup import TopicLookup, look_up
from barnabas.wire.errors import ErrorCode, KafkaError, UnknownTopicOrPartition
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_TOPIC_IDS_SINCE = 10

Codes = dict[tuple[str, int], ErrorCode]

# In half a millisecond.
PIECES = (Pieces("topics", parts="partitions", answers="topics", size=200),)


def handle(
    context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
    image = context.broker.image
    by_id = context.api_version >= _TOPIC_IDS_SINCE
    found = [look_up(image, topic, by_id=by_id) for topic in request.topics]
    topics = tuple(_existing(request.topics, found))
    if not topics:
        return _respond(request, topics, found, OffsetCommitResponse())
    try:
        committed = context.broker.groups.offset_commit(request.replace(topics=topics), context.api_version)
    except KafkaError as error:
        return _respond(request, topics, found, _all_refused(topics, error))
    if isinstance(committed, OffsetCommitResponse):
        return _respond(request, topics, found, committed)
    return _respond_later(request, topics, found, committed)


async def _respond_later(
    request: OffsetCommitRequest,
    topics: tuple[OffsetCommitRequestTopic, ...],
    found: Sequence[TopicLookup],
    pending: Awaitable[OffsetCommitResponse],
) -> OffsetCommitResponse:
    try:
        committed = await pending
    except KafkaError as error:
        committed = _all_refused(topics, error)
    return _respond(request, topics, found, committed)


def _respond(
    request: OffsetCommitRequest,
    topics: tuple[OffsetCommitRequestTopic, ...],
    found: Sequence[TopicLookup],
    committed: OffsetCommitResponse,
) -> OffsetCommitResponse:
    if [len(asked.partitions) for asked in request.topics] == [len(topic.partitions) for topic in topics]:
        return committed  # all there is to say
    codes = {
        (topic.name, each.partition_index): each.error_code for topic in committed.topics for each in topic.partitions
    }
    return OffsetCommitResponse(
        topics=tuple(_topic(asked, known, codes) for asked, known in zip(request.topics, found, strict=True))
    )


def _existing(
    asked: Sequence[OffsetCommitRequestTopic], found: Sequence[TopicLookup]
) -> Iterator[OffsetCommitRequestTopic]:
    for topic, known in zip(asked, found, strict=True):
        if known.topic is None:
            continue
        there = known.topic.partitions
        partitions = topic.partitions
        if not all(each.partition_index in there for each in partitions):
            partitions = tuple(each for each in partitions if each.partition_index in there)
        if partitions:
            yield OffsetCommitRequestTopic(name=known.topic.name, topic_id=known.topic.id, partitions=partitions)


def _all_refused(topics: Sequence[OffsetCommitRequestTopic], error: KafkaError) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=tuple(_refused(topic, error) for topic in topics))


def _refused(topic: OffsetCommitRequestTopic, error: KafkaError) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=tuple(
            OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error.code)
            for each in topic.partitions
        ),
    )


def _topic(asked: OffsetCommitRequestTopic, known: TopicLookup, committed: Codes) -> OffsetCommitResponseTopic:
    if known.topic is None:
        codes = [known.error_code] * len(asked.partitions)
    else:
        unknown = UnknownTopicOrPartition.code
        codes = [committed.get((known.topic.name, each.partition_index), unknown) for each in asked.partitions]
    return OffsetCommitResponseTopic(
        name=asked.name,
        topic_id=asked.topic_id,
        partitions=tuple(
            OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
            for each, code in zip(asked.partitions, codes, strict=True)
        ),
    )
