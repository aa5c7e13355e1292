"""Topics that a request names by name or, in later versions, by id."""

import uuid
from typing import NamedTuple, Protocol

from barnabas.metadata.image import ClusterImage, TopicImage
from barnabas.wire.errors import ErrorCode, UnknownTopicId, UnknownTopicOrPartition


class NamesTopic(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def topic_id(self) -> uuid.UUID | None: ...


class LookedUp(NamedTuple):
    topic: TopicImage | None
    error_code: ErrorCode
    """For every partition of a topic that does not exist."""


def look_up(image: ClusterImage, wanted: NamesTopic, *, by_id: bool) -> LookedUp:
    if by_id:
        topic = None if wanted.topic_id is None else image.topics.by_id.get(wanted.topic_id)
        return LookedUp(topic, UnknownTopicId.code)
    return LookedUp(image.topics.by_name.get(wanted.name), UnknownTopicOrPartition.code)
