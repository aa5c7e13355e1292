"""DeleteGroups (0-2): delete empty groups with their committed offsets; share groups with their partitions' state."""

from barnabas.handlers.context import Broker, RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse

SHARE_GROUP = "share"
PIECES = (Pieces("groups_names", answers="results", size=50),)


async def handle(context: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    refused = {}
    for group_id in request.groups_names:
        error = await _forget_states(context.broker, group_id)
        if error is not None:
            refused[group_id] = DeletableGroupResult(group_id=group_id, error_code=error.code)
    deletable = [group_id for group_id in request.groups_names if group_id not in refused]
    return DeleteGroupsResponse(results=(*refused.values(), *await context.broker.groups.delete(deletable)))


async def _forget_states(broker: Broker, group_id: str) -> KafkaError | None:
    try:
        kind = await broker.groups.kind_of(group_id)
    except KafkaError:
        return None  # the deletion itself will report it
    return await broker.share.groups.delete_states(group_id) if kind == SHARE_GROUP else None
