"""OffsetForLeaderEpoch (2-4): the end offset of a leader epoch, so that a reader can detect log truncation."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

PIECES = (Pieces("topics", parts="partitions", answers="topics", size=4),)  # their logs may have to be opened


def handle(
    replicas: Replicas, context: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=tuple(
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=tuple(_end_of_epoch(replicas, topic.topic, asked) for asked in topic.partitions),
            )
            for topic in request.topics
        )
    )


def _end_of_epoch(replicas: Replicas, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = replicas.get(topic, asked.partition)
        partition.check_leader(asked.current_leader_epoch)
        epoch, end_offset = partition.log.end_offset_for_epoch(asked.leader_epoch)
    except KafkaError as error:
        return EpochEndOffset(partition=asked.partition, error_code=error.code)
    return EpochEndOffset(partition=asked.partition, leader_epoch=epoch, end_offset=end_offset)
