"""OffsetDelete (0): an administrator removes offsets of topics that the group does not subscribe to."""

from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Cluster
from barnabas.metadata.image import ClusterImage
from barnabas.wire.errors import ErrorCode, KafkaError, UnknownTopicOrPartition
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

PIECES = (Pieces("topics", parts="partitions", answers="topics", size=200),)


async def handle(
    cluster: Cluster, groups: GroupCoordinator, context: RequestContext, request: OffsetDeleteRequest
) -> OffsetDeleteResponse:
    image = cluster.image
    existing = tuple(_existing(image, topic) for topic in request.topics)
    try:
        refused = await groups.offset_delete(OffsetDeleteRequest(group_id=request.group_id, topics=existing))
    except KafkaError as error:
        return OffsetDeleteResponse(error_code=error.code)
    deleted = {
        (topic.name, each.partition_index): refused[topic.name].code if topic.name in refused else ErrorCode.none
        for topic in existing
        for each in topic.partitions
    }
    return OffsetDeleteResponse(topics=tuple(_topic(topic, deleted) for topic in request.topics))


def _existing(image: ClusterImage, asked: OffsetDeleteRequestTopic) -> OffsetDeleteRequestTopic:
    known = image.topics.by_name.get(asked.name)
    partitions = () if known is None else tuple(p for p in asked.partitions if p.partition_index in known.partitions)
    return OffsetDeleteRequestTopic(name=asked.name, partitions=partitions)


def _topic(asked: OffsetDeleteRequestTopic, deleted: dict[tuple[str, int], ErrorCode]) -> OffsetDeleteResponseTopic:
    return OffsetDeleteResponseTopic(
        name=asked.name,
        partitions=tuple(
            OffsetDeleteResponsePartition(
                partition_index=each.partition_index,
                error_code=deleted.get((asked.name, each.partition_index), UnknownTopicOrPartition.code),
            )
            for each in asked.partitions
        ),
    )
