"""Look up topics that a request refers to by name or, in later versions, by id."""

import uuid
from typing import NamedTuple, Protocol

from barnabas.metadata.image import ClusterImage, TopicImage
from barnabas.wire.errors import ErrorCode, UnknownTopicId, UnknownTopicOrPartition


class TopicReference(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def topic_id(self) -> uuid.UUID | None: ...


class TopicLookup(NamedTuple):
    topic: TopicImage | None
    error_code: ErrorCode
    """The error for each requested partition if the topic does not exist."""


def look_up(image: ClusterImage, wanted: TopicReference, *, by_id: bool) -> TopicLookup:
    if by_id:
        topic = None if wanted.topic_id is None else image.topics.by_id.get(wanted.topic_id)
        return TopicLookup(topic, UnknownTopicId.code)
    return TopicLookup(image.topics.by_name.get(wanted.name), UnknownTopicOrPartition.code)
