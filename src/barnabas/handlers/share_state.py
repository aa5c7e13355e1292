"""What the five state APIs of share groups have in common: each share-partition has an answer of its own.

Brokers send them to the share coordinator of a share-partition; this broker's own share-partitions call it directly.
As with Kafka, a request without a group, or with a topic without partitions, gets an empty answer.
"""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from barnabas.model.share import SharePartitionKey
from barnabas.wire.errors import ErrorCode, InvalidRequest, KafkaError

P = TypeVar("P", bound="AskedPartition")
R = TypeVar("R")


class AskedPartition(Protocol):
    partition: int


class AskedTopic(Protocol[P]):
    topic_id: uuid.UUID | None
    partitions: tuple[P, ...]


async def for_each_partition(
    group_id: str,
    topics: Sequence[AskedTopic[P]],
    act: Callable[[SharePartitionKey, P], Awaitable[R]],
    refuse: Callable[[int, ErrorCode, str], R],
) -> list[tuple[uuid.UUID | None, tuple[R, ...]]]:
    """(topic id, results) for every topic; `refuse` makes a result of an error."""
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
