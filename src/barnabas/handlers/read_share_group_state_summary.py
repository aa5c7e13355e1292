"""ReadShareGroupStateSummary (0-1): start offsets of share-partitions; version 1 adds the delivery complete count."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.share_services import ShareServices
from barnabas.handlers.share_state import for_each_partition
from barnabas.model.share import SharePartitionKey
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.read_share_group_state_summary import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)


async def handle(
    share: ShareServices, context: RequestContext, request: ReadShareGroupStateSummaryRequest
) -> ReadShareGroupStateSummaryResponse:
    coordinator = share.coordinator

    async def summarize(key: SharePartitionKey, asked: PartitionData) -> PartitionResult:
        summary = await coordinator.summary(key)
        return PartitionResult(
            partition=key.partition,
            state_epoch=summary.state_epoch,
            leader_epoch=summary.leader_epoch,
            start_offset=summary.start_offset,
            delivery_complete_count=summary.delivery_complete_count,
        )

    results = await for_each_partition(request.group_id, request.topics, summarize, _refusal)
    return ReadShareGroupStateSummaryResponse(
        results=tuple(
            ReadStateSummaryResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in results
        )
    )


def _refusal(partition: int, code: ErrorCode, message: str) -> PartitionResult:
    return PartitionResult(partition=partition, error_code=code, error_message=message)
