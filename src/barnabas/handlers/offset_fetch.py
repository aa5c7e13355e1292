"""OffsetFetch (1-10): the committed offsets of groups. Several groups from version 8 on, topics by id in version 10.

Null for topics requests all of them. Every answer waits until the offsets in it are durable. With `require_stable`, an
offset that an open transaction is about to change gets UNSTABLE_OFFSET_COMMIT, and the consumer retries.
"""

from functools import partial
from typing import TypeVar

from barnabas.coordinator.group.offsets.fetch import FetchedTopic
from barnabas.coordinator.group.offsets.stored import CommittedOffset
from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Cluster
from barnabas.handlers.topic_lookup import look_up
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
_NO_OFFSET = -1

P = TypeVar("P", OffsetFetchResponsePartition, OffsetFetchResponsePartitions)


async def handle(
    cluster: Cluster, groups: GroupCoordinator, context: RequestContext, request: OffsetFetchRequest
) -> OffsetFetchResponse:
    if context.api_version < _GROUPS_SINCE:
        return await _one_group(groups, context, request)
    by_id = context.api_version >= _TOPIC_IDS_SINCE
    fetch = partial(_fetch_by_id, cluster) if by_id else _fetch
    fetched = [await fetch(groups, group, request.require_stable) for group in request.groups]
    return OffsetFetchResponse(groups=tuple(fetched))


async def _one_group(
    groups: GroupCoordinator, context: RequestContext, request: OffsetFetchRequest
) -> OffsetFetchResponse:
    topics = None
    if request.topics is not None:
        topics = tuple(
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        )
    asked = OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)
    try:
        fetched = await groups.offset_fetch(asked, require_stable=request.require_stable)
    except KafkaError as error:
        if context.api_version >= _GROUP_ERROR_SINCE:
            return OffsetFetchResponse(error_code=error.code)
        # Such a client looks for errors at the partitions only.
        return OffsetFetchResponse(
            topics=tuple(
                OffsetFetchResponseTopic(
                    name=topic.name,
                    partitions=tuple(
                        _partition(OffsetFetchResponsePartition, index, error) for index in topic.partition_indexes
                    ),
                )
                for topic in topics or ()
            )
        )
    return OffsetFetchResponse(
        topics=tuple(
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=tuple(
                    _partition(OffsetFetchResponsePartition, index, found) for index, found in topic.offsets
                ),
            )
            for topic in fetched
        )
    )


async def _fetch(
    groups: GroupCoordinator, group: OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponseGroup:
    try:
        fetched = await groups.offset_fetch(group, require_stable=require_stable)
    except KafkaError as error:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=error.code)
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=tuple(map(_topic, fetched)))


async def _fetch_by_id(
    cluster: Cluster, groups: GroupCoordinator, group: OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponseGroup:
    image = cluster.image
    if group.topics is None:
        response = await _fetch(groups, group, require_stable)
        # Version 10 has no field for a topic's name, so topics that no longer exist, and have no id, are left out.
        by_name = image.topics.by_name
        return response.replace(
            topics=tuple(
                topic.replace(topic_id=known.id)
                for topic in response.topics
                if (known := by_name.get(topic.name)) is not None
            )
        )
    found = [look_up(image, topic, by_id=True) for topic in group.topics]
    named = tuple(
        OffsetFetchRequestTopics(
            name=known.topic.name, topic_id=known.topic.id, partition_indexes=asked.partition_indexes
        )
        for asked, known in zip(group.topics, found, strict=True)
        if known.topic is not None
    )
    response = await _fetch(groups, group.replace(topics=named), require_stable)
    if response.error_code:
        return response
    unknown = tuple(
        _failed(asked, known.error_code)
        for asked, known in zip(group.topics, found, strict=True)
        if known.topic is None
    )
    return response.replace(topics=response.topics + unknown)


def _topic(fetched: FetchedTopic) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=fetched.name,
        topic_id=fetched.topic_id,
        partitions=tuple([_partition(OffsetFetchResponsePartitions, index, found) for index, found in fetched.offsets]),
    )


def _partition(kind: type[P], index: int, fetched: CommittedOffset | KafkaError | None) -> P:
    if isinstance(fetched, CommittedOffset):
        return kind(
            partition_index=index,
            committed_offset=fetched.offset,
            committed_leader_epoch=fetched.leader_epoch,
            metadata=fetched.metadata,
        )
    code = ErrorCode.none if fetched is None else fetched.code
    return kind(partition_index=index, committed_offset=_NO_OFFSET, metadata="", error_code=code)


def _failed(asked: OffsetFetchRequestTopics, code: ErrorCode) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=asked.name,
        topic_id=asked.topic_id,
        partitions=tuple(
            OffsetFetchResponsePartitions(
                partition_index=index, committed_offset=_NO_OFFSET, metadata="", error_code=code
            )
            for index in asked.partition_indexes
        ),
    )
