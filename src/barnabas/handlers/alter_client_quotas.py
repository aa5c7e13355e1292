"""AlterClientQuotas (0-1): limits for users, client ids and addresses. The controller decides, entity by entity."""

import ipaddress
import socket

from barnabas.controller.controller import Controller
from barnabas.controller.decisions.client_quotas import decide_alter_client_quotas, quota_key
from barnabas.handlers.context import RequestContext
from barnabas.handlers.outcomes import error_fields
from barnabas.handlers.services import Runtime
from barnabas.quotas.limits import IP, QuotaKey
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryDataResponse,
)


async def handle(
    runtime: Runtime, controller: Controller, context: RequestContext, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    names = {
        name for entry in request.entries for kind, name in quota_key(entry.entity) if kind == IP and name is not None
    }
    # Resolving a host name can take seconds.
    unresolvable = await runtime.workers.run(lambda: frozenset(name for name in names if not _resolves(name)))
    outcomes = await controller.decide(
        lambda image: decide_alter_client_quotas(image, request, unresolvable=unresolvable)
    )
    return AlterClientQuotasResponse(entries=tuple(_result(key, error) for key, error in outcomes.items()))


def _result(key: QuotaKey, error: KafkaError | None) -> EntryDataResponse:
    entity = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in key)
    return EntryDataResponse(entity=entity, **error_fields(error))


def _resolves(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        try:
            socket.getaddrinfo(name, None)
        except (OSError, UnicodeError):
            return False
    return True
