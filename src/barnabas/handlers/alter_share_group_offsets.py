"""AlterShareGroupOffsets (0): set a share group's start offsets. The group must be empty; a missing one is created."""

import uuid

from barnabas.handlers.context import RequestContext
from barnabas.handlers.outcomes import error_fields
from barnabas.handlers.services import Cluster
from barnabas.handlers.share_services import ShareServices
from barnabas.handlers.share_version import check_share_groups
from barnabas.wire.errors import InvalidGroupId, InvalidRequest, KafkaError, UnknownTopicOrPartition
from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)


async def handle(
    cluster: Cluster, share: ShareServices, context: RequestContext, request: AlterShareGroupOffsetsRequest
) -> AlterShareGroupOffsetsResponse:
    try:
        return await _alter(cluster, share, request)
    except KafkaError as error:
        return AlterShareGroupOffsetsResponse(error_code=error.code, error_message=str(error))


async def _alter(
    cluster: Cluster, share: ShareServices, request: AlterShareGroupOffsetsRequest
) -> AlterShareGroupOffsetsResponse:
    check_share_groups(cluster)
    if not request.group_id:
        raise InvalidGroupId("the group id is empty")
    by_name = cluster.image.topics.by_name
    starts: dict[tuple[uuid.UUID, int], int] = {}
    for asked in request.topics:
        topic = by_name.get(asked.topic_name)
        if topic is not None:
            for each in asked.partitions:
                if each.partition_index in topic.partitions and each.start_offset >= 0:
                    starts[topic.id, each.partition_index] = each.start_offset
    failed = await share.groups.alter_offsets(request.group_id, starts) if starts else {}
    share.partitions.forget_group(request.group_id)
    responses = []
    for asked in request.topics:
        topic = by_name.get(asked.topic_name)
        partitions = []
        for each in asked.partitions:
            error: KafkaError | None
            if topic is None or each.partition_index not in topic.partitions:
                error = UnknownTopicOrPartition(
                    f"the cluster has no partition {asked.topic_name}-{each.partition_index}"
                )
            elif each.start_offset < 0:
                error = InvalidRequest("the start offset is negative")
            else:
                error = failed.get((topic.id, each.partition_index))
            partitions.append(
                AlterShareGroupOffsetsResponsePartition(
                    partition_index=each.partition_index,
                    **error_fields(error),
                )
            )
        responses.append(
            AlterShareGroupOffsetsResponseTopic(
                topic_name=asked.topic_name, topic_id=None if topic is None else topic.id, partitions=tuple(partitions)
            )
        )
    return AlterShareGroupOffsetsResponse(responses=tuple(responses))
