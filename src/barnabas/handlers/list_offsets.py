"""ListOffsets (1-11): an offset by its time, or by one of the special times.

-1 latest        the end a consumer may read to
-2 earliest      the log's start
-3 max timestamp the record with the greatest timestamp (version 7)
-4 earliest local, as earliest: there is no remote tier (version 8)
-5 latest tiered, -6 earliest pending upload: none, offset -1 (versions 9 and 11)
"""

from typing import Final, NamedTuple

from barnabas.handlers.context import Broker, RequestContext
from barnabas.replication.partition import Partition
from barnabas.wire.errors import ErrorCode, KafkaError, UnsupportedVersion
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

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


def handle(context: RequestContext, request: ListOffsetsRequest) -> ListOffsetsResponse:
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
                else _answer(context.broker, context.api_version, topic.name, asked)
            )
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=tuple(partitions)))
    return ListOffsetsResponse(topics=tuple(topics))


def _answer(broker: Broker, version: int, topic: str, asked: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
    try:
        if asked.timestamp < EARLIEST_PENDING_UPLOAD or version < SINCE_VERSION.get(asked.timestamp, 1):
            raise UnsupportedVersion(f"timestamp {asked.timestamp} means nothing in version {version}")
        partition = broker.replicas.get(topic, asked.partition_index)
        partition.check_leader(asked.current_leader_epoch)
        found = _find(partition, asked.timestamp)
    except KafkaError as error:
        return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=error.code)
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch,
    )


def _find(partition: Partition, timestamp: int) -> Found:
    log = partition.log
    if timestamp == LATEST:
        return Found(offset=log.high_watermark, leader_epoch=partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return Found(offset=log.log_start_offset, leader_epoch=log.epochs.epoch_at(log.log_start_offset))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return Found()
    found = log.offset_of_max_timestamp() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)
    if found is None or found[1] >= log.high_watermark:
        return Found()
    return Found(*found)
