"""ListGroups (0-5): the groups this broker coordinates, filtered by state (4+) and type (5+)."""

from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse


async def handle(groups: GroupCoordinator, context: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    try:
        listed = await groups.list(request.states_filter, request.types_filter)
    except KafkaError as error:
        return ListGroupsResponse(error_code=error.code)
    return ListGroupsResponse(groups=tuple(listed))
