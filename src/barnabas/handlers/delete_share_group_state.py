"""DeleteShareGroupState (0): delete the state of share-partitions."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.share_services import ShareServices
from barnabas.handlers.share_state import for_each_partition
from barnabas.model.share import SharePartitionKey
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionData,
    PartitionResult,
)


async def handle(
    share: ShareServices, context: RequestContext, request: DeleteShareGroupStateRequest
) -> DeleteShareGroupStateResponse:
    coordinator = share.coordinator

    async def delete(key: SharePartitionKey, asked: PartitionData) -> PartitionResult:
        await coordinator.delete(key)
        return PartitionResult(partition=key.partition)

    results = await for_each_partition(request.group_id, request.topics, delete, _refusal)
    return DeleteShareGroupStateResponse(
        results=tuple(DeleteStateResult(topic_id=topic_id, partitions=partitions) for topic_id, partitions in results)
    )


def _refusal(partition: int, code: ErrorCode, message: str) -> PartitionResult:
    return PartitionResult(partition=partition, error_code=code, error_message=message)
