"""DescribeTopicPartitions (0): topics by name in alphabetical order, a bounded number of partitions at a time.

An incomplete answer carries a cursor, with which the client requests the rest. A topic list that is not empty must
contain the cursor's topic; an empty list means all topics.
"""

from barnabas.controller.decisions.topic_names import why_invalid
from barnabas.handlers.authorized_operations import TOPIC_OPERATIONS
from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Cluster, Runtime
from barnabas.metadata.image import PartitionImage, TopicImage
from barnabas.model import INTERNAL_TOPICS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)


async def handle(
    cluster: Cluster, runtime: Runtime, context: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    image = cluster.image
    start = request.cursor or Cursor()
    asked = {topic.name for topic in request.topics}
    if start.partition_index < 0 or (asked and request.cursor and start.topic_name not in asked):
        # The response has no request-level error code; each requested topic carries the error.
        return DescribeTopicPartitionsResponse(
            topics=tuple(_failed(name, ErrorCode.invalid_request) for name in sorted(asked))
        )
    names = sorted(name for name in asked or image.topics.by_name if name >= start.topic_name)
    limit = cluster.configs.integer("max.request.partition.size.limit")
    remaining = max(1, min(limit, request.response_partition_limit))
    alive = {broker.id for broker in image.brokers.values() if not broker.fenced}

    topics = []
    next_cursor = None
    time_slice = runtime.time_slices.begin()
    for name in names:
        if time_slice.is_over():
            await runtime.time_slices.next(time_slice)
        if remaining == 0:
            next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = image.topics.by_name.get(name)
        if topic is None:
            invalid = why_invalid(name) is not None
            code = ErrorCode.invalid_topic_exception if invalid else ErrorCode.unknown_topic_or_partition
            topics.append(_failed(name, code))
            continue
        first = start.partition_index if name == start.topic_name else 0
        indexes = [index for index in sorted(topic.partitions) if index >= first]
        topics.append(_topic(topic, indexes[:remaining], alive))
        if len(indexes) > remaining:
            next_cursor = Cursor(topic_name=name, partition_index=indexes[remaining])
            break
        remaining -= len(indexes)
    return DescribeTopicPartitionsResponse(topics=tuple(topics), next_cursor=next_cursor)


def _failed(name: str, code: ErrorCode) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _topic(topic: TopicImage, indexes: list[int], alive: set[int]) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=tuple(_partition(index, topic.partitions[index], alive) for index in indexes),
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _partition(index: int, partition: PartitionImage, alive: set[int]) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        partition_index=index,
        leader_id=partition.leader if partition.leader in alive else -1,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        eligible_leader_replicas=partition.eligible_leader_replicas,
        last_known_elr=partition.last_known_elr,
        offline_replicas=tuple(replica for replica in partition.replicas if replica not in alive),
    )
