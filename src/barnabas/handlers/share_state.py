"""What the five state APIs of share groups have in common: a result for each share-partition.

Other brokers send these requests to the share coordinator; this broker's share-partitions call the coordinator
directly. As in Kafka, a request without a group id, or with a topic without partitions, gets an empty answer.
"""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from barnabas.model.share import SharePartitionKey
from barnabas.wire.errors import ErrorCode, InvalidRequest, KafkaError

P = TypeVar("P", bound="RequestedPartition")
R = TypeVar("R")


class RequestedPartition(Protocol):
    partition: int


class RequestedTopic(Protocol[P]):
    topic_id: uuid.UUID | None
    partitions: tuple[P, ...]


async def for_each_partition(
    group_id: str,
    topics: Sequence[RequestedTopic[P]],
    act: Callable[[SharePartitionKey, P], Awaitable[R]],
    refuse: Callable[[int, ErrorCode, str], R],
) -> list[tuple[uuid.UUID | None, tuple[R, ...]]]:
    """(topic id, results) for every topic; `refuse` turns an error into a result."""
    if not group_id or not all(topic.partitions for topic in topics):
        return []

    async def one(topic_id: uuid.UUID | None, asked: P) -> R:
        try:
            if topic_id is None:
                raise InvalidRequest("The topic id cannot be null.")
            if asked.partition < 0:
                raise InvalidRequest("The partition id cannot be a negative number.")
            return await act(SharePartitionKey(group_id, topic_id, asked.partition), asked)
        except KafkaError as error:
            return refuse(asked.partition, error.code, str(error))

    return [
        (topic.topic_id, tuple([await one(topic.topic_id, asked) for asked in topic.partitions])) for topic in topics
    ]
