"""DeleteRecords (0-2): move a partition's log start forward; -1 means up to the high watermark.

Answered when the new start is on disk, so deleted records do not come back after a crash. (In Apache Kafka they can,
for up to a minute.)
"""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Runtime
from barnabas.model import INTERNAL_TOPICS
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import ErrorCode, InvalidTopic, KafkaError, OffsetOutOfRange, PolicyViolation
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)


async def handle(
    runtime: Runtime, replicas: Replicas, context: RequestContext, request: DeleteRecordsRequest
) -> DeleteRecordsResponse:
    time_slices = runtime.time_slices
    time_slice = time_slices.begin()
    topics = []
    for topic in request.topics:
        results = []
        for asked in topic.partitions:
            results.append(_delete(replicas, topic.name, asked))
            if time_slice.is_over():
                await time_slices.next(time_slice)
        topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=tuple(results)))
    if any(_is_deleted(result) for topic in topics for result in topic.partitions):
        try:
            await replicas.checkpoints.write()
        except KafkaError as error:
            topics = [_not_kept(topic, error) for topic in topics]
    return DeleteRecordsResponse(topics=tuple(topics))


def _is_deleted(result: DeleteRecordsPartitionResult) -> bool:
    return result.error_code == ErrorCode.none


def _not_kept(topic: DeleteRecordsTopicResult, error: KafkaError) -> DeleteRecordsTopicResult:
    return topic.replace(
        partitions=tuple(
            result.replace(error_code=error.code) if _is_deleted(result) else result for result in topic.partitions
        )
    )


def _delete(replicas: Replicas, topic: str, asked: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    try:
        if topic in INTERNAL_TOPICS:
            raise InvalidTopic(f"{topic} is internal: its records are the broker's")
        partition = replicas.get(topic, asked.partition_index)
        partition.check_leader()
        log = partition.log
        if not log.settings.delete:
            raise PolicyViolation(f"{topic} is compacted only: its records are deleted by tombstones")
        offset = log.high_watermark if asked.offset == -1 else asked.offset
        if offset < 0:
            raise OffsetOutOfRange(f"offset {offset} is not an offset")
        low_watermark = log.delete_records(offset)
    except KafkaError as error:
        return DeleteRecordsPartitionResult(
            partition_index=asked.partition_index, low_watermark=-1, error_code=error.code
        )
    return DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=low_watermark)
