"""ReadShareGroupState (0): a leader reads the state of its share-partitions; its leader epoch is stored."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.share_services import ShareServices
from barnabas.handlers.share_state import for_each_partition
from barnabas.model.share import SharePartitionKey
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)


async def handle(
    share: ShareServices, context: RequestContext, request: ReadShareGroupStateRequest
) -> ReadShareGroupStateResponse:
    coordinator = share.coordinator

    async def read(key: SharePartitionKey, asked: PartitionData) -> PartitionResult:
        state = await coordinator.read(key, leader_epoch=asked.leader_epoch)
        return PartitionResult(
            partition=key.partition,
            state_epoch=state.state_epoch,
            start_offset=state.start_offset,
            state_batches=tuple(StateBatch(**batch._asdict()) for batch in state.batches),
        )

    results = await for_each_partition(request.group_id, request.topics, read, _refusal)
    return ReadShareGroupStateResponse(
        results=tuple(ReadStateResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in results)
    )


def _refusal(partition: int, code: ErrorCode, message: str) -> PartitionResult:
    return PartitionResult(partition=partition, error_code=code, error_message=message)
