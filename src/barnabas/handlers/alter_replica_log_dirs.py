"""AlterReplicaLogDirs (1-2): move partitions to other log directories of this broker (KIP-113).

The answer means that the move was accepted, not that it is done: DescribeLogDirs shows the copy as a future replica
until it takes over. Naming the directory that holds the partition now cancels a move.
"""

import os

from barnabas.handlers.context import RequestContext
from barnabas.log.log_directory import LogDirectory
from barnabas.model import TopicPartition
from barnabas.replication.log_moves import LogMoves
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import ErrorCode, KafkaError, LogDirNotFound
from barnabas.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)


def handle(
    replicas: Replicas, log_moves: LogMoves, context: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    results: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    for wanted in request.dirs:
        for topic in wanted.topics:
            results.setdefault(topic.name, []).extend(
                AlterReplicaLogDirPartitionResult(
                    partition_index=index, error_code=_move(replicas, log_moves, wanted.path, topic.name, index)
                )
                for index in topic.partitions
            )
    return AlterReplicaLogDirsResponse(
        results=tuple(
            AlterReplicaLogDirTopicResult(topic_name=name, partitions=tuple(partitions))
            for name, partitions in results.items()
        )
    )


def _move(replicas: Replicas, log_moves: LogMoves, path: str, topic: str, index: int) -> ErrorCode:
    try:
        log_moves.move(TopicPartition(topic, index), _directory(replicas, path))
    except KafkaError as error:
        return error.code
    return ErrorCode.none


def _directory(replicas: Replicas, path: str) -> LogDirectory:
    for directory in replicas.store.directories:
        if path and os.path.abspath(directory.path) == os.path.abspath(path):
            return directory
    raise LogDirNotFound(f"{path} is not one of this broker's log directories")
