"""AlterClientQuotas (0-1): limits for users, client ids and addresses. The controller decides, entity by entity."""

import ipaddress
import socket

from barnabas.controller.client_quotas import decide_alter_client_quotas, quota_key
from barnabas.handlers.context import RequestContext
from barnabas.quotas.limits import IP
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse


async def handle(context: RequestContext, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    names = {
        name for entry in request.entries for kind, name in quota_key(entry.entity) if kind == IP and name is not None
    }
    # Resolving a host name can take seconds.
    unresolvable = await context.broker.workers.run(lambda: frozenset(name for name in names if not _resolves(name)))
    return await context.broker.controller.decide(
        lambda image: decide_alter_client_quotas(image, request, unresolvable=unresolvable)
    )


def _resolves(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        try:
            socket.getaddrinfo(name, None)
        except (OSError, UnicodeError):
            return False
    return True
