"""DeleteGroups (0-2): groups without members, and all they committed."""

from barnabas.handlers.context import RequestContext
from barnabas.handlers.pieces import Pieces
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse

PIECES = (Pieces("groups_names", answers="results", size=50),)


async def handle(context: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=tuple(await context.broker.groups.delete(request.groups_names)))
