"""DeleteShareGroupOffsets (0): delete a share group's offsets for topics. The group must be empty."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.outcomes import error_fields
from barnabas.handlers.services import Cluster
from barnabas.handlers.share_services import ShareServices
from barnabas.handlers.share_version import check_share_groups
from barnabas.wire.errors import InvalidGroupId, KafkaError, UnknownTopicOrPartition
from barnabas.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)


async def handle(
    cluster: Cluster, share: ShareServices, context: RequestContext, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse:
    try:
        return await _delete(cluster, share, request)
    except KafkaError as error:
        return DeleteShareGroupOffsetsResponse(error_code=error.code, error_message=str(error))


async def _delete(
    cluster: Cluster, share: ShareServices, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse:
    check_share_groups(cluster)
    if not request.group_id:
        raise InvalidGroupId("the group id is empty")
    by_name = cluster.image.topics.by_name
    names = list(dict.fromkeys(topic.topic_name for topic in request.topics))
    ids = [by_name[name].id for name in names if name in by_name]
    outcomes = await share.groups.delete_offsets(request.group_id, ids)
    share.partitions.forget_group(request.group_id)
    responses = []
    for name in names:
        topic = by_name.get(name)
        error: KafkaError | None
        if topic is None:
            error = UnknownTopicOrPartition(f"the cluster has no topic {name}")
        elif topic.id not in outcomes:
            error = UnknownTopicOrPartition("There is no offset information to delete.")
        else:
            error = outcomes[topic.id]
        responses.append(
            DeleteShareGroupOffsetsResponseTopic(
                topic_name=name,
                topic_id=None if topic is None else topic.id,
                **error_fields(error),
            )
        )
    return DeleteShareGroupOffsetsResponse(responses=tuple(responses))
