"""WriteShareGroupState (0-1): store the state of share-partitions. Version 1 adds the delivery complete count."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.share_services import ShareServices
from barnabas.handlers.share_state import for_each_partition
from barnabas.model.share import SharePartitionKey, StateBatch, StateWrite
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.write_share_group_state import (
    PartitionData,
    PartitionResult,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)


async def handle(
    share: ShareServices, context: RequestContext, request: WriteShareGroupStateRequest
) -> WriteShareGroupStateResponse:
    coordinator = share.coordinator

    async def write(key: SharePartitionKey, asked: PartitionData) -> PartitionResult:
        batches = tuple(
            StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
            for batch in asked.state_batches
        )
        state = StateWrite(
            asked.state_epoch, asked.leader_epoch, asked.start_offset, asked.delivery_complete_count, batches
        )
        await coordinator.write(key, state)
        return PartitionResult(partition=key.partition)

    results = await for_each_partition(request.group_id, request.topics, write, _refusal)
    return WriteShareGroupStateResponse(
        results=tuple(WriteStateResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in results)
    )


def _refusal(partition: int, code: ErrorCode, message: str) -> PartitionResult:
    return PartitionResult(partition=partition, error_code=code, error_message=message)
