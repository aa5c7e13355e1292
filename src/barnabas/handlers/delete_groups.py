"""DeleteGroups (0-2): delete empty groups with their committed offsets; share groups with their partitions' state."""

from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.handlers.outcomes import error_code
from barnabas.handlers.pieces import Pieces
from barnabas.handlers.share_services import ShareServices
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse

SHARE_GROUP = "share"
PIECES = (Pieces("groups_names", answers="results", size=50),)


async def handle(
    groups: GroupCoordinator, share: ShareServices, context: RequestContext, request: DeleteGroupsRequest
) -> DeleteGroupsResponse:
    outcomes: dict[str, KafkaError | None] = {}
    for group_id in request.groups_names:
        error = await _forget_states(groups, share, group_id)
        if error is not None:
            outcomes[group_id] = error
    deletable = [group_id for group_id in request.groups_names if group_id not in outcomes]
    outcomes |= await groups.delete(deletable)
    return DeleteGroupsResponse(
        results=tuple(
            DeletableGroupResult(group_id=group_id, error_code=error_code(error))
            for group_id, error in outcomes.items()
        )
    )


async def _forget_states(groups: GroupCoordinator, share: ShareServices, group_id: str) -> KafkaError | None:
    try:
        kind = await groups.kind_of(group_id)
    except KafkaError:
        return None  # the deletion itself will report it
    return await share.groups.delete_states(group_id) if kind == SHARE_GROUP else None
