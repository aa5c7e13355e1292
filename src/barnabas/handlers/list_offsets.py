"""ListOffsets (1-11): the offset for a timestamp, or for one of these special timestamps:

-1 latest        where a consumer's reads end: the high watermark, or the last stable offset (read_committed)
-2 earliest      the log's start
-3 max timestamp the record with the greatest timestamp (version 7)
-4 earliest local, same as earliest: there is no remote tier (version 8)
-5 latest tiered, -6 earliest pending upload: always offset -1 (versions 9 and 11)
"""

from typing import Final, NamedTuple

from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.services import Reads
from barnabas.replication.partition import Partition
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import ErrorCode, KafkaError, UnsupportedVersion
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

READ_COMMITTED: Final = 1

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6

SINCE_VERSION: Final = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}


class Found(NamedTuple):
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1


PIECES = (Pieces("topics", parts="partitions", answers="topics", size=4),)  # their logs may have to be opened


def handle(
    replicas: Replicas, reads: Reads, context: RequestContext, request: ListOffsetsRequest
) -> ListOffsetsResponse:
    seen: set[tuple[str, int]] = set()
    topics = []
    for topic in request.topics:
        partitions = []
        for asked in topic.partitions:
            duplicate = (topic.name, asked.partition_index) in seen
            seen.add((topic.name, asked.partition_index))
            partitions.append(
                ListOffsetsPartitionResponse(
                    partition_index=asked.partition_index, error_code=ErrorCode.invalid_request
                )
                if duplicate
                else _answer(replicas, reads, context, request.isolation_level, topic.name, asked)
            )
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=tuple(partitions)))
    return ListOffsetsResponse(topics=tuple(topics))


def _answer(
    replicas: Replicas,
    reads: Reads,
    context: RequestContext,
    isolation_level: int,
    topic: str,
    asked: ListOffsetsPartition,
) -> ListOffsetsPartitionResponse:
    version = context.api_version
    try:
        if asked.timestamp < EARLIEST_PENDING_UPLOAD or version < SINCE_VERSION.get(asked.timestamp, 1):
            raise UnsupportedVersion(f"timestamp {asked.timestamp} has no meaning in version {version}")
        partition = replicas.get(topic, asked.partition_index)
        partition.check_leader(asked.current_leader_epoch)
        found = _find(partition, asked.timestamp, committed_only=isolation_level == READ_COMMITTED)
    except KafkaError as error:
        reads.report_damage(topic, asked.partition_index, error)
        return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=error.code)
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch,
    )


def _find(partition: Partition, timestamp: int, *, committed_only: bool) -> Found:
    log = partition.log
    end_offset = log.last_stable_offset if committed_only else log.high_watermark
    if timestamp == LATEST:
        return Found(offset=end_offset, leader_epoch=partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return Found(offset=log.log_start_offset, leader_epoch=log.epochs.epoch_at(log.log_start_offset))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return Found()
    found = log.offset_of_max_timestamp() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)
    if found is None or found[1] >= end_offset:
        return Found()
    return Found(*found)
