"""Metadata (0-13): brokers, topics, leaders. May create a topic that is asked for and does not exist.

Version 0 asks for all topics with an empty list, later ones with null. From version 12 a topic may be asked for by id,
which never creates one. A broker is described by the listener that the request came through.
"""

import uuid
from collections.abc import Awaitable

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
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def handle(context: RequestContext, request: MetadataRequest) -> MetadataResponse | Awaitable[MetadataResponse]:
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
) -> MetadataResponse:
    refused: dict[str, ErrorCode] = {}
    for name in missing:
        code = await context.broker.auto_create_topic(name)
        if code not in (ErrorCode.none, ErrorCode.topic_already_exists):
            refused[name] = code
    return _respond(context, request, wanted, refused)


def _respond(
    context: RequestContext,
    request: MetadataRequest,
    wanted: tuple[MetadataRequestTopic, ...] | None,
    refused: dict[str, ErrorCode],
) -> MetadataResponse:
    image = context.broker.image
    operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_REQUESTED
    alive = {broker.id for broker in image.brokers.values() if not broker.fenced}
    if wanted is None:
        topics = tuple(_topic(topic, alive, operations) for topic in image.topics.by_name.values())
    else:
        topics = tuple(_wanted_topic(image, topic, alive, operations, refused) for topic in wanted)
    return MetadataResponse(
        brokers=_brokers(image, context.client),
        cluster_id=context.broker.cluster_id,
        # Every broker can take what a controller must decide, so clients are sent to the one they speak to.
        controller_id=context.broker.node_id,
        topics=topics,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_REQUESTED
        ),
    )


def _brokers(image: ClusterImage, client: ClientConnection) -> tuple[MetadataResponseBroker, ...]:
    return tuple(
        MetadataResponseBroker(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
        for broker in image.brokers.values()
        if not broker.fenced and (endpoint := endpoint_for(broker, client)) is not None
    )


def _wanted_topic(
    image: ClusterImage,
    wanted: MetadataRequestTopic,
    alive: set[int],
    operations: int,
    refused: dict[str, ErrorCode],
) -> MetadataResponseTopic:
    known = (
        image.topics.by_id.get(wanted.topic_id)
        if wanted.topic_id is not None
        else image.topics.by_name.get(wanted.name or "")
    )
    if known is not None:
        return _topic(known, alive, operations)
    if wanted.topic_id is not None:
        return _unknown(None, wanted.topic_id, ErrorCode.unknown_topic_id)
    name = wanted.name or ""
    return _unknown(name, None, refused.get(name, _unknown_name_error(name)))


def _unknown_name_error(name: str) -> ErrorCode:
    from barnabas.controller.topic_names import why_invalid  # only a misspelt name needs it

    return ErrorCode.invalid_topic_exception if why_invalid(name) else ErrorCode.unknown_topic_or_partition


def _unknown(name: str | None, topic_id: uuid.UUID | None, code: ErrorCode) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=code, name=name, topic_id=topic_id, is_internal=name in INTERNAL_TOPICS)


def _topic(topic: TopicImage, alive: set[int], operations: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=tuple(_partition(index, partition, alive) for index, partition in topic.partitions.items()),
        topic_authorized_operations=operations,
    )


def _partition(index: int, partition: PartitionImage, alive: set[int]) -> MetadataResponsePartition:
    led = partition.leader in alive
    return MetadataResponsePartition(
        error_code=ErrorCode.none if led else ErrorCode.leader_not_available,
        partition_index=index,
        leader_id=partition.leader if led else -1,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        offline_replicas=tuple(replica for replica in partition.replicas if replica not in alive),
    )
