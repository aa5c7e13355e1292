"""Metadata (0-13): brokers, topics, leaders. May create a requested topic that does not exist.

Version 0 requests all topics with an empty list, later ones with null. From version 12 on, a topic may be requested by
id, which never creates one; versions 10 and 11 have a field for the id but ignore it. Brokers are listed with their
addresses on the listener that the request came through.

A client may request ten thousand topics at once. The answer is made in time slices, with other requests in between, all
from the image that was current at the start.
"""

import uuid
from collections.abc import Awaitable, Sequence
from typing import Final

from barnabas.env.time_slices import TimeSlices
from barnabas.handlers.authorized_operations import CLUSTER_OPERATIONS, NOT_REQUESTED, TOPIC_OPERATIONS
from barnabas.handlers.context import ClientConnection, RequestContext
from barnabas.handlers.endpoints import endpoint_for
from barnabas.handlers.services import Cluster, Runtime, TopicMaker
from barnabas.metadata.image import ClusterImage, PartitionImage, TopicImage
from barnabas.model import INTERNAL_TOPICS
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ANSWERS_FROM_IMAGE: Final = True

_IDS_SINCE: Final = 12
# Made in a few milliseconds.
PARTITIONS_IN_A_TURN: Final = 500


def handle(
    cluster: Cluster, runtime: Runtime, topic_maker: TopicMaker, context: RequestContext, request: MetadataRequest
) -> MetadataResponse | Awaitable[MetadataResponse]:
    wanted = request.topics
    if wanted is None or (context.api_version == 0 and not wanted):
        return _respond(cluster, runtime, context, request, None, {})
    missing = [
        topic.name
        for topic in wanted
        if topic.name is not None and topic.topic_id is None and topic.name not in cluster.image.topics.by_name
    ]
    may_create = request.allow_auto_topic_creation and cluster.configs.boolean("auto.create.topics.enable")
    if missing and may_create:
        return _create_then_respond(cluster, runtime, topic_maker, context, request, wanted, missing)
    return _respond(cluster, runtime, context, request, wanted, {})


async def _create_then_respond(
    cluster: Cluster,
    runtime: Runtime,
    topic_maker: TopicMaker,
    context: RequestContext,
    request: MetadataRequest,
    wanted: tuple[MetadataRequestTopic, ...],
    missing: list[str],
) -> MetadataResponse:
    refused: dict[str, ErrorCode] = {}
    for name in missing:
        error = await topic_maker.auto_create(name)
        if error is not None:
            refused[name] = error.code
    answer = _respond(cluster, runtime, context, request, wanted, refused)
    return answer if isinstance(answer, MetadataResponse) else await answer


def _respond(
    cluster: Cluster,
    runtime: Runtime,
    context: RequestContext,
    request: MetadataRequest,
    wanted: tuple[MetadataRequestTopic, ...] | None,
    refused: dict[str, ErrorCode],
) -> MetadataResponse | Awaitable[MetadataResponse]:
    image = cluster.image
    topics = _Topics(context, image, request, refused)
    frame = MetadataResponse(
        brokers=_brokers(image, context.client),
        cluster_id=cluster.cluster_id,
        # Every broker accepts controller requests, so clients stay with the one they are connected to.
        controller_id=cluster.node_id,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_REQUESTED
        ),
    )
    asked: list[TopicImage | MetadataRequestTopic]
    asked = list(image.topics.by_name.values()) if wanted is None else [topics.find(each) or each for each in wanted]
    if sum(map(_weight, asked)) > PARTITIONS_IN_A_TURN:
        return _respond_in_slices(runtime.time_slices, frame, topics, asked)
    return frame.replace(topics=tuple(topics.describe(each, topics.describe_partitions(each)) for each in asked))


async def _respond_in_slices(
    time_slices: TimeSlices, frame: MetadataResponse, topics: "_Topics", asked: list[TopicImage | MetadataRequestTopic]
) -> MetadataResponse:
    described = []
    time_slice = await time_slices.wait()
    for each in asked:
        partitions = []
        if isinstance(each, TopicImage):
            for index, partition in each.partitions.items():
                partitions.append(topics.describe_partition(index, partition))
                if time_slice.is_over():
                    await time_slices.next(time_slice)
        described.append(topics.describe(each, partitions))
        if time_slice.is_over():
            await time_slices.next(time_slice)
    return frame.replace(topics=tuple(described))


def _weight(asked: TopicImage | MetadataRequestTopic) -> int:
    return 1 + len(asked.partitions) if isinstance(asked, TopicImage) else 1


def _brokers(image: ClusterImage, client: ClientConnection) -> tuple[MetadataResponseBroker, ...]:
    return tuple(
        MetadataResponseBroker(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
        for broker in image.brokers.values()
        if not broker.fenced and (endpoint := endpoint_for(broker, client)) is not None
    )


class _Topics:
    """The topics of one image, as one request needs them."""

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

    def describe_partitions(self, asked: TopicImage | MetadataRequestTopic) -> list[MetadataResponsePartition]:
        """None if the topic does not exist."""
        if not isinstance(asked, TopicImage):
            return []
        return [self.describe_partition(index, partition) for index, partition in asked.partitions.items()]

    def describe(
        self, asked: TopicImage | MetadataRequestTopic, partitions: Sequence[MetadataResponsePartition]
    ) -> MetadataResponseTopic:
        """A topic, or the error for a requested topic that does not exist."""
        if isinstance(asked, TopicImage):
            return MetadataResponseTopic(
                name=asked.name,
                topic_id=asked.id,
                is_internal=asked.name in INTERNAL_TOPICS,
                partitions=tuple(partitions),
                topic_authorized_operations=self._operations,
            )
        if self._version < _IDS_SINCE and (asked.topic_id is not None or asked.name is None):
            return _unknown(asked.name or "", asked.topic_id, ErrorCode.invalid_request)
        if asked.topic_id is not None:
            return _unknown(None, asked.topic_id, ErrorCode.unknown_topic_id)
        name = asked.name or ""
        return _unknown(name, None, self._refused.get(name) or _unknown_name_error(name))

    def describe_partition(self, index: int, partition: PartitionImage) -> MetadataResponsePartition:
        led = partition.leader in self._alive
        return MetadataResponsePartition(
            error_code=ErrorCode.none if led else ErrorCode.leader_not_available,
            partition_index=index,
            leader_id=partition.leader if led else -1,
            leader_epoch=partition.leader_epoch,
            replica_nodes=partition.replicas,
            isr_nodes=partition.isr,
            offline_replicas=tuple(replica for replica in partition.replicas if replica not in self._alive),
        )


def _unknown(name: str | None, topic_id: uuid.UUID | None, code: ErrorCode) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=code,
        name=name,
        topic_id=topic_id,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=NOT_REQUESTED,
    )


def _unknown_name_error(name: str) -> ErrorCode:
    from barnabas.controller.decisions.topic_names import why_invalid  # only a misspelt name needs it

    return ErrorCode.invalid_topic_exception if why_invalid(name) else ErrorCode.unknown_topic_or_partition
