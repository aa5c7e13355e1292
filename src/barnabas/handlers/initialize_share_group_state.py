"""InitializeShareGroupState (0): set or reset a share-partition's start offset, which may still be undetermined."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.share_services import ShareServices
from barnabas.handlers.share_state import for_each_partition
from barnabas.model.share import SharePartitionKey
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionData,
    PartitionResult,
)


async def handle(
    share: ShareServices, context: RequestContext, request: InitializeShareGroupStateRequest
) -> InitializeShareGroupStateResponse:
    coordinator = share.coordinator

    async def initialize(key: SharePartitionKey, asked: PartitionData) -> PartitionResult:
        await coordinator.initialize(key, state_epoch=asked.state_epoch, start_offset=asked.start_offset)
        return PartitionResult(partition=key.partition)

    results = await for_each_partition(request.group_id, request.topics, initialize, _refusal)
    return InitializeShareGroupStateResponse(
        results=tuple(
            InitializeStateResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in results
        )
    )


def _refusal(partition: int, code: ErrorCode, message: str) -> PartitionResult:
    return PartitionResult(partition=partition, error_code=code, error_message=message)
