"""OffsetCommit (2-10): commit a group's offsets. Version 10 names topics by id.

Each partition that does not exist gets its own error; a group-level error is the answer for all the others.
"""

from collections.abc import Awaitable, Iterable, Iterator, Sequence
from functools import lru_cache

from barnabas.coordinator.group.offsets.commit import Refused
from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Cluster
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
_NONE, _UNKNOWN = ErrorCode.none, UnknownTopicOrPartition.code

# In half a millisecond.
PIECES = (Pieces("topics", parts="partitions", answers="topics", size=200),)


def handle(
    cluster: Cluster, groups: GroupCoordinator, context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
    image = cluster.image
    by_id = context.api_version >= _TOPIC_IDS_SINCE
    found = [look_up(image, topic, by_id=by_id) for topic in request.topics]
    topics = tuple(_existing(request.topics, found))
    if not topics:
        return _respond(request, found, {})
    try:
        refused = groups.offset_commit(request.replace(topics=topics), context.api_version)
    except KafkaError as error:
        return _respond(request, found, error)
    if isinstance(refused, dict):
        return _respond(request, found, refused)
    return _respond_later(request, found, refused)


async def _respond_later(
    request: OffsetCommitRequest, found: Sequence[TopicLookup], pending: Awaitable[Refused]
) -> OffsetCommitResponse:
    refused: Refused | KafkaError
    try:
        refused = await pending
    except KafkaError as error:
        refused = error
    return _respond(request, found, refused)


def _existing(
    asked: Sequence[OffsetCommitRequestTopic], found: Sequence[TopicLookup]
) -> Iterator[OffsetCommitRequestTopic]:
    for topic, known in zip(asked, found, strict=True):
        if known.topic is None:
            continue
        there = known.topic.partitions
        partitions = topic.partitions
        if not there.keys() >= {each.partition_index for each in partitions}:
            partitions = tuple(each for each in partitions if each.partition_index in there)
        if partitions:
            yield OffsetCommitRequestTopic(name=known.topic.name, topic_id=known.topic.id, partitions=partitions)


def _respond(
    request: OffsetCommitRequest, found: Sequence[TopicLookup], refused: Refused | KafkaError
) -> OffsetCommitResponse:
    """`refused`: the errors of some partitions, or that of all."""
    return OffsetCommitResponse(
        topics=tuple(
            [
                OffsetCommitResponseTopic(
                    name=asked.name, topic_id=asked.topic_id, partitions=_partitions(asked, known, refused)
                )
                for asked, known in zip(request.topics, found, strict=True)
            ]
        )
    )


def _partitions(
    asked: OffsetCommitRequestTopic, known: TopicLookup, refused: Refused | KafkaError
) -> tuple[OffsetCommitResponsePartition, ...]:
    if known.topic is None:
        return tuple([_answer(each.partition_index, known.error_code) for each in asked.partitions])
    there = known.topic.partitions
    if isinstance(refused, KafkaError):
        codes = dict.fromkeys(there, refused.code)
    elif refused:
        codes = _codes(known.topic.name, there, refused)
    else:
        return tuple(
            [
                _answer(each.partition_index, _NONE if each.partition_index in there else _UNKNOWN)
                for each in asked.partitions
            ]
        )
    return tuple(
        [_answer(each.partition_index, codes.get(each.partition_index, _UNKNOWN)) for each in asked.partitions]
    )


def _codes(name: str, there: Iterable[int], refused: Refused) -> dict[int, ErrorCode]:
    return {index: refused[name, index].code if (name, index) in refused else _NONE for index in there}


@lru_cache(maxsize=4_096)
def _answer(index: int, code: ErrorCode) -> OffsetCommitResponsePartition:
    """Messages are immutable, and most answers are the same."""
    return OffsetCommitResponsePartition(partition_index=index, error_code=code)
