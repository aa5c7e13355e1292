"""DescribeShareGroupOffsets (0-1): a share group's start offset in each partition. Version 1 adds the lag.

The lag is the number of records from the start offset to the end that are not yet processed. Without a list of topics,
all partitions for which the group has state are described.
"""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Cluster
from barnabas.handlers.share_services import ShareServices
from barnabas.handlers.share_version import check_share_groups
from barnabas.metadata.image import TopicImage
from barnabas.model import SHARE_STATE_TOPIC
from barnabas.model.share import DELIVERY_COMPLETE_UNKNOWN, START_OFFSET_UNKNOWN, SharePartitionKey
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)


async def handle(
    cluster: Cluster,
    replicas: Replicas,
    share: ShareServices,
    context: RequestContext,
    request: DescribeShareGroupOffsetsRequest,
) -> DescribeShareGroupOffsetsResponse:
    groups = []
    for asked in request.groups:
        try:
            check_share_groups(cluster)
            topics = await _topics(cluster, replicas, share, asked)
            groups.append(DescribeShareGroupOffsetsResponseGroup(group_id=asked.group_id, topics=tuple(topics)))
        except KafkaError as error:
            groups.append(
                DescribeShareGroupOffsetsResponseGroup(
                    group_id=asked.group_id, error_code=error.code, error_message=str(error)
                )
            )
    return DescribeShareGroupOffsetsResponse(groups=tuple(groups))


async def _topics(
    cluster: Cluster, replicas: Replicas, share: ShareServices, asked: DescribeShareGroupOffsetsRequestGroup
) -> list[DescribeShareGroupOffsetsResponseTopic]:
    image = cluster.image.topics
    if asked.topics is None:
        initialized = await share.groups.initialized(asked.group_id)
        wanted = [
            (image.by_id[topic_id].name, sorted(indexes))
            for topic_id, indexes in initialized.items()
            if topic_id in image.by_id
        ]
    else:
        wanted = [(topic.topic_name, list(topic.partitions)) for topic in asked.topics]
    answers = []
    for name, indexes in wanted:
        topic = image.by_name.get(name)
        partitions = [await _partition(cluster, replicas, share, asked.group_id, topic, index) for index in indexes]
        answers.append(
            DescribeShareGroupOffsetsResponseTopic(
                topic_name=name, topic_id=None if topic is None else topic.id, partitions=tuple(partitions)
            )
        )
    return answers


async def _partition(
    cluster: Cluster, replicas: Replicas, share: ShareServices, group_id: str, topic: TopicImage | None, index: int
) -> DescribeShareGroupOffsetsResponsePartition:
    answer = DescribeShareGroupOffsetsResponsePartition(partition_index=index, start_offset=START_OFFSET_UNKNOWN)
    if topic is None or SHARE_STATE_TOPIC not in cluster.image.topics.by_name:
        return answer
    try:
        summary = await share.groups.summary(SharePartitionKey(group_id, topic.id, index))
    except KafkaError:
        return answer  # as in Kafka: no offset rather than an error
    answer = answer.replace(start_offset=summary.start_offset, leader_epoch=summary.leader_epoch)
    if summary.start_offset != START_OFFSET_UNKNOWN and summary.delivery_complete_count != DELIVERY_COMPLETE_UNKNOWN:
        try:
            end_offset = replicas.get(topic.name, index).log.high_watermark
        except KafkaError as error:
            return answer.replace(error_code=error.code, error_message=str(error))
        return answer.replace(lag=max(end_offset - summary.start_offset - summary.delivery_complete_count, 0))
    return answer
