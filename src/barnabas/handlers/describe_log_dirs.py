"""DescribeLogDirs (1-5): this broker's log directories, with the partitions in each and their sizes.

A partition that is being moved is also listed in its target directory, as a future replica with its lag. An offline
directory has KAFKA_STORAGE_ERROR. A log that is not open yet is opened to measure it, so the handler yields to the
event loop between logs.
"""

import os

from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Runtime
from barnabas.log.future_log import FutureLog
from barnabas.log.log_directory import LogDirectory
from barnabas.model import TopicPartition
from barnabas.replication.log_moves import LogMoves
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import ErrorCode, KafkaError
from barnabas.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

Found = dict[str, list[DescribeLogDirsPartition]]
"""By topic."""


async def handle(
    runtime: Runtime, replicas: Replicas, log_moves: LogMoves, context: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    wanted = [partition.topic_partition for partition in replicas]
    if request.topics is not None:
        asked = {TopicPartition(topic.topic, index) for topic in request.topics for index in topic.partitions}
        wanted = [topic_partition for topic_partition in wanted if topic_partition in asked]
    sizes: dict[str, Found] = {directory.path: {} for directory in replicas.store.directories}
    time_slices = runtime.time_slices
    time_slice = time_slices.begin()
    for topic_partition in wanted:
        _measure(replicas, topic_partition, sizes)
        if time_slice.is_over():
            await time_slices.next(time_slice)
    moving = set(wanted)
    for future in log_moves:
        if future.topic_partition in moving:
            _add_future(replicas, future, sizes)
    return DescribeLogDirsResponse(
        results=tuple(_result(directory, sizes[directory.path]) for directory in replicas.store.directories)
    )


def _measure(replicas: Replicas, topic_partition: TopicPartition, sizes: dict[str, Found]) -> None:
    try:
        # Looked up again each time: opening the log of a partition that was deleted meanwhile would bring it back.
        log = replicas.get(*topic_partition).log
    except KafkaError:
        return  # deleted meanwhile, or in a directory that is offline
    directory = replicas.store.directory_of(topic_partition)
    if directory is not None:
        sizes[directory.path].setdefault(topic_partition.topic, []).append(
            DescribeLogDirsPartition(partition_index=topic_partition.partition, partition_size=log.size)
        )


def _add_future(replicas: Replicas, future: FutureLog, sizes: dict[str, Found]) -> None:
    topic, index = future.topic_partition
    try:
        end_offset = replicas.get(topic, index).log.log_end_offset
    except KafkaError:
        return
    sizes[future.directory.path].setdefault(topic, []).append(
        DescribeLogDirsPartition(
            partition_index=index,
            partition_size=future.size,
            offset_lag=max(0, end_offset - future.end_offset),
            is_future_key=True,
        )
    )


def _result(directory: LogDirectory, found: Found) -> DescribeLogDirsResult:
    path = os.path.abspath(directory.path)
    if directory.health.is_offline:
        return DescribeLogDirsResult(error_code=ErrorCode.kafka_storage_error, log_dir=path)
    total_bytes, usable_bytes = directory.volume_bytes()
    return DescribeLogDirsResult(
        log_dir=path,
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
        topics=tuple(
            DescribeLogDirsTopic(
                name=topic,
                partitions=tuple(sorted(partitions, key=lambda each: each.partition_index)),
            )
            for topic, partitions in sorted(found.items())
        ),
    )
