"""Partitions by topic id, for target and current assignments."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Final

from barnabas.wire.schema import Message, array, uuid_field

Partitions = Mapping[uuid.UUID, frozenset[int]]
"""Immutable. Topics without partitions are left out."""

NO_PARTITIONS: Final[Partitions] = {}


class StoredTopicPartitions(Message, versions=(0, 0), flexible_since=0):
    topic_id: uuid.UUID | None = uuid_field()
    partitions: tuple[int, ...] = array("int32")


def to_stored(partitions: Partitions) -> tuple[StoredTopicPartitions, ...]:
    """In the order of the topic ids: that of a mapping made from sets differs from process to process."""
    return tuple(
        StoredTopicPartitions(topic_id=topic_id, partitions=tuple(sorted(indexes)))
        for topic_id, indexes in sorted(partitions.items())
    )


def from_stored(stored: Iterable[StoredTopicPartitions]) -> Partitions:
    return {
        topic.topic_id: frozenset(topic.partitions)
        for topic in stored
        if topic.topic_id is not None and topic.partitions
    }
