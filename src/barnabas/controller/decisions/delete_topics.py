"""Decides DeleteTopics requests: topics by name, or from version 6 on by id."""

import uuid
from collections import Counter

from barnabas.controller.decisions.decision import Decision, Spend, unlimited
from barnabas.controller.decisions.topic_names import is_reserved
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.image import ClusterImage, TopicImage
from barnabas.metadata.records import RemoveTopicRecord
from barnabas.wire.errors import (
    InvalidRequest,
    KafkaError,
    TopicDeletionDisabled,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState


def decide_delete_topics(
    image: ClusterImage, request: DeleteTopicsRequest, *, configs: BrokerConfigs, spend: Spend = unlimited
) -> Decision[list[TopicImage | KafkaError]]:
    """For each of `topics_to_delete`: the topic that is deleted, or why it is not."""
    wanted = topics_to_delete(request)
    names = Counter(topic.name for topic in wanted)
    ids = Counter(topic.topic_id for topic in wanted)
    enabled = configs.boolean("delete.topic.enable")
    deleted: dict[uuid.UUID, RemoveTopicRecord] = {}
    outcomes: list[TopicImage | KafkaError] = []
    for topic in wanted:
        try:
            if not enabled:
                raise TopicDeletionDisabled("Topic deletion is disabled: delete.topic.enable is false.")
            if topic.name is not None and names[topic.name] > 1:
                raise InvalidRequest("Duplicate topic name.")
            if topic.topic_id is not None and ids[topic.topic_id] > 1:
                raise InvalidRequest("Duplicate topic id.")
            found = _find(image, topic)
            if found.id in deleted:
                raise InvalidRequest("The provided topic name maps to an ID that was already supplied.")
            if is_reserved(found.name):
                raise InvalidRequest(f"Deletion of internal topic {found.name} is prohibited.")
            spend(len(found.partitions))
        except KafkaError as error:
            outcomes.append(error)
        else:
            deleted[found.id] = RemoveTopicRecord(topic_id=found.id)
            outcomes.append(found)
    return Decision(tuple(deleted.values()), outcomes)


def topics_to_delete(request: DeleteTopicsRequest) -> list[DeleteTopicState]:
    return [*(DeleteTopicState(name=name) for name in request.topic_names), *request.topics]


def _find(image: ClusterImage, topic: DeleteTopicState) -> TopicImage:
    if topic.name is not None and topic.topic_id is not None:
        raise InvalidRequest("You may not specify both topic name and topic id.")
    if topic.topic_id is not None:
        if (by_id := image.topics.by_id.get(topic.topic_id)) is None:
            raise UnknownTopicId("This server does not host this topic ID.")
        return by_id
    if topic.name is None:
        raise InvalidRequest("Neither topic name nor id were specified.")
    if (by_name := image.topics.by_name.get(topic.name)) is None:
        raise UnknownTopicOrPartition("This server does not host this topic-partition.")
    return by_name
