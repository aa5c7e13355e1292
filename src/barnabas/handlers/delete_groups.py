"""DeleteGroups (0-2): groups without members, and all they committed."""

from barnabas.handlers.context import RequestContext
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse


async def handle(context: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=tuple(await context.broker.groups.delete(request.groups_names)))
