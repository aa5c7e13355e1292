"""Metadata (0-13): brokers, topics, leaders. May create a requested topic that does not exist.

Version 0 requests all topics with an empty list, later ones with null. From version 12 on, a topic may be requested by
id, which never creates one; versions 10 and 11 have a field for the id but ignore it. Brokers are listed with their
addresses on the listener that the request came through.

A client may request ten thousand topics at once. They are encoded in time slices, with other requests in between, all
from the image that was current at the start.
"""

import uuid
from collections.abc import Awaitable, Sequence
from typing import Final

from barnabas.env.time_slices import TimeSlices
from barnabas.handlers.authorized_operations import CLUSTER_OPERATIONS, NOT_REQUESTED, TOPIC_OPERATIONS
from barnabas.handlers.context import ClientConnection, RequestContext
from barnabas.handlers.endpoints import endpoint_for
from barnabas.metadata.image import ClusterImage, PartitionImage, TopicImage
from barnabas.model import INTERNAL_TOPICS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
)
from barnabas.wire.metadata_response import MetadataAnswer, TopicPartitionFacts, encode_partition, encode_topic

ANSWERS_FROM_IMAGE: Final = True

_IDS_SINCE: Final = 12
# Encoded in a few milliseconds.
PARTITIONS_IN_A_TURN: Final = 500


def handle(context: RequestContext, request: MetadataRequest) -> MetadataAnswer | Awaitable[MetadataAnswer]:
    wanted = request.topics
    if wanted is None or (context.api_version == 0 and not wanted):
        return _respond(context, request, None, {})
    missing = [
        topic.name
        for topic in wanted
        if topic.name is not None and topic.topic_id is None and topic.name not in context.broker.image.topics.by_name
    ]
    may_create = request.allow_auto_topic_creation and context.broker.configs.boolean("auto.create.topics.enable")
    if missing and may_create:
        return _create_then_respond(context, request, wanted, missing)
    return _respond(context, request, wanted, {})


async def _create_then_respond(
    context: RequestContext, request: MetadataRequest, wanted: tuple[MetadataRequestTopic, ...], missing: list[str]
) -> MetadataAnswer:
    refused: dict[str, ErrorCode] = {}
    for name in missing:
        code = await context.broker.auto_create_topic(name)
        if code not in (ErrorCode.none, ErrorCode.topic_already_exists):
            refused[name] = code
    answer = _respond(context, request, wanted, refused)
    return answer if isinstance(answer, MetadataAnswer) else await answer


def _respond(
    context: RequestContext,
    request: MetadataRequest,
    wanted: tuple[MetadataRequestTopic, ...] | None,
    refused: dict[str, ErrorCode],
) -> MetadataAnswer | Awaitable[MetadataAnswer]:
    image = context.broker.image
    topics = _Topics(context, image, request, refused)
    frame = MetadataResponse(
        brokers=_brokers(image, context.client),
        cluster_id=context.broker.cluster_id,
        # Every broker accepts controller requests, so clients stay with the one they are connected to.
        controller_id=context.broker.node_id,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_REQUESTED
        ),
    )
    asked: list[TopicImage | MetadataRequestTopic]
    asked = list(image.topics.by_name.values()) if wanted is None else [topics.find(each) or each for each in wanted]
    if sum(map(_weight, asked)) > PARTITIONS_IN_A_TURN:
        return _respond_in_slices(context.broker.time_slices, frame, topics, asked)
    return MetadataAnswer(frame, [topics.encode(each, topics.encode_partitions(each)) for each in asked])


async def _respond_in_slices(
    time_slices: TimeSlices, frame: MetadataResponse, topics: "_Topics", asked: list[TopicImage | MetadataRequestTopic]
) -> MetadataAnswer:
    encoded = []
    time_slice = await time_slices.wait()
    for each in asked:
        partitions = []
        if isinstance(each, TopicImage):
            for index, partition in each.partitions.items():
                partitions.append(topics.encode_partition(index, partition))
                if time_slice.is_over():
                    await time_slices.next(time_slice)
        encoded.append(topics.encode(each, partitions))
        if time_slice.is_over():
            await time_slices.next(time_slice)
    return MetadataAnswer(frame, encoded)


def _weight(asked: TopicImage | MetadataRequestTopic) -> int:
    return 1 + len(asked.partitions) if isinstance(asked, TopicImage) else 1


def _brokers(image: ClusterImage, client: ClientConnection) -> tuple[MetadataResponseBroker, ...]:
    return tuple(
        MetadataResponseBroker(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
        for broker in image.brokers.values()
        if not broker.fenced and (endpoint := endpoint_for(broker, client)) is not None
    )


class _Topics:
    """The topics of one image, encoded as one request needs them."""

    def __init__(
        self, context: RequestContext, image: ClusterImage, request: MetadataRequest, refused: dict[str, ErrorCode]
    ) -> None:
        self._version = context.api_version
        self._image = image
        self._refused = refused
        self._operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_REQUESTED
        self._alive = {broker.id for broker in image.brokers.values() if not broker.fenced}

    def find(self, wanted: MetadataRequestTopic) -> TopicImage | None:
        if wanted.topic_id is not None:
            return self._image.topics.by_id.get(wanted.topic_id) if self._version >= _IDS_SINCE else None
        return self._image.topics.by_name.get(wanted.name or "")

    def encode_partitions(self, asked: TopicImage | MetadataRequestTopic) -> list[bytes]:
        """None if the topic does not exist."""
        if not isinstance(asked, TopicImage):
            return []
        return [self.encode_partition(index, partition) for index, partition in asked.partitions.items()]

    def encode(self, asked: TopicImage | MetadataRequestTopic, partitions: Sequence[bytes]) -> bytes:
        """Encode a topic, or the error for a requested topic that does not exist."""
        if isinstance(asked, TopicImage):
            return self._encode_known(asked, partitions)
        if self._version < _IDS_SINCE and (asked.topic_id is not None or asked.name is None):
            return self._encode_unknown(asked.name or "", asked.topic_id, ErrorCode.invalid_request)
        if asked.topic_id is not None:
            return self._encode_unknown(None, asked.topic_id, ErrorCode.unknown_topic_id)
        name = asked.name or ""
        return self._encode_unknown(name, None, self._refused.get(name) or _unknown_name_error(name))

    def _encode_unknown(self, name: str | None, topic_id: uuid.UUID | None, code: ErrorCode) -> bytes:
        return encode_topic(
            self._version,
            error_code=int(code),
            name=name,
            topic_id=topic_id,
            is_internal=name in INTERNAL_TOPICS,
            operations=NOT_REQUESTED,
        )

    def _encode_known(self, topic: TopicImage, partitions: Sequence[bytes]) -> bytes:
        return encode_topic(
            self._version,
            name=topic.name,
            topic_id=topic.id,
            is_internal=topic.name in INTERNAL_TOPICS,
            partitions=partitions,
            operations=self._operations,
        )

    def encode_partition(self, index: int, partition: PartitionImage) -> bytes:
        led = partition.leader in self._alive
        return encode_partition(
            self._version,
            TopicPartitionFacts(
                0 if led else int(ErrorCode.leader_not_available),
                index,
                partition.leader if led else -1,
                partition.leader_epoch,
                partition.replicas,
                partition.isr,
                tuple(replica for replica in partition.replicas if replica not in self._alive),
            ),
        )


def _unknown_name_error(name: str) -> ErrorCode:
    from barnabas.controller.topic_names import why_invalid  # only a misspelt name needs it

    return ErrorCode.invalid_topic_exception if why_invalid(name) else ErrorCode.unknown_topic_or_partition
