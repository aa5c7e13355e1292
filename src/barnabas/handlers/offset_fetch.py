"""OffsetFetch (1-10): the committed offsets of groups. Several groups from version 8 on, topics by id in version 10.

Null for topics requests all of them. Every answer waits until the offsets in it are durable. With `require_stable`, an
offset that an open transaction is about to change gets UNSTABLE_OFFSET_COMMIT, and the consumer retries.
"""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.topic_lookup import look_up
from barnabas.metadata.image import ClusterImage
from barnabas.wire.errors import ErrorCode, KafkaError
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

PIECES = (Pieces("groups", answers="groups", size=20),)

_GROUP_ERROR_SINCE = 2
_GROUPS_SINCE = 8
_TOPIC_IDS_SINCE = 10


async def handle(context: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    if context.api_version < _GROUPS_SINCE:
        return await _one_group(context, request)
    by_id = context.api_version >= _TOPIC_IDS_SINCE
    fetch = _fetch_by_id if by_id else _fetch
    groups = [await fetch(context, group, request.require_stable) for group in request.groups]
    return OffsetFetchResponse(groups=tuple(groups))


async def _one_group(context: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    topics = None
    if request.topics is not None:
        topics = tuple(
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        )
    asked = OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)
    group = await _fetch(context, asked, request.require_stable)
    if group.error_code and context.api_version < _GROUP_ERROR_SINCE:
        # Such a client looks for errors at the partitions only.
        group = OffsetFetchResponseGroup(topics=tuple(_failed(topic, group.error_code) for topic in topics or ()))
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=tuple(
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=tuple(
                    OffsetFetchResponsePartition(
                        partition_index=each.partition_index,
                        committed_offset=each.committed_offset,
                        committed_leader_epoch=each.committed_leader_epoch,
                        metadata=each.metadata,
                        error_code=each.error_code,
                    )
                    for each in topic.partitions
                ),
            )
            for topic in group.topics
        ),
    )


async def _fetch(
    context: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponseGroup:
    try:
        return await context.broker.groups.offset_fetch(group, require_stable=require_stable)
    except KafkaError as error:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=error.code)


async def _fetch_by_id(
    context: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponseGroup:
    image = context.broker.image
    if group.topics is None:
        response = await _fetch(context, group, require_stable)
        return _with_topics(response, _existing(image, response.topics))
    found = [look_up(image, topic, by_id=True) for topic in group.topics]
    named = tuple(
        OffsetFetchRequestTopics(
            name=known.topic.name, topic_id=known.topic.id, partition_indexes=asked.partition_indexes
        )
        for asked, known in zip(group.topics, found, strict=True)
        if known.topic is not None
    )
    by_name = OffsetFetchRequestGroup(
        group_id=group.group_id, member_id=group.member_id, member_epoch=group.member_epoch, topics=named
    )
    response = await _fetch(context, by_name, require_stable)
    if response.error_code:
        return response
    unknown = tuple(
        _failed(asked, known.error_code)
        for asked, known in zip(group.topics, found, strict=True)
        if known.topic is None
    )
    return _with_topics(response, response.topics + unknown)


def _existing(
    image: ClusterImage, topics: tuple[OffsetFetchResponseTopics, ...]
) -> tuple[OffsetFetchResponseTopics, ...]:
    """Version 10 has no field for a topic's name, so topics that no longer exist, and have no id, are left out."""
    return tuple(
        OffsetFetchResponseTopics(name=topic.name, topic_id=known.id, partitions=topic.partitions)
        for topic in topics
        if (known := image.topics.by_name.get(topic.name)) is not None
    )


def _with_topics(
    group: OffsetFetchResponseGroup, topics: tuple[OffsetFetchResponseTopics, ...]
) -> OffsetFetchResponseGroup:
    return OffsetFetchResponseGroup(group_id=group.group_id, error_code=group.error_code, topics=topics)


def _failed(asked: OffsetFetchRequestTopics, code: ErrorCode) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=asked.name,
        topic_id=asked.topic_id,
        partitions=tuple(
            OffsetFetchResponsePartitions(partition_index=index, committed_offset=-1, metadata="", error_code=code)
            for index in asked.partition_indexes
        ),
    )
