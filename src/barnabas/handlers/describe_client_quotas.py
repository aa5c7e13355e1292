"""DescribeClientQuotas (0-1): the limits that are set, filtered by user, client id or address.

For each entity type a filter gives a name, the default, or "any". Without `strict`, an entity may have further types.
"""

from typing import NamedTuple

from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Cluster
from barnabas.quotas.limits import CLIENT_ID, IP, USER, QuotaKey
from barnabas.wire.errors import InvalidRequest, UnsupportedVersion
from barnabas.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)


class _Filter(NamedTuple):
    exact: dict[str, str | None]
    specified: set[str]

    def matches(self, key: QuotaKey, *, strict: bool) -> bool:
        entity = dict(key)
        if strict and len(entity) != len(self.exact) + len(self.specified):
            return False
        return all(kind in entity and entity[kind] == name for kind, name in self.exact.items()) and all(
            kind in entity for kind in self.specified
        )


def handle(
    cluster: Cluster, context: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    wanted = _filter(request.components)
    return DescribeClientQuotasResponse(
        error_message="",
        entries=tuple(
            EntryData(
                entity=tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in key),
                values=tuple(ValueData(key=name, value=limit) for name, limit in limits.items()),
            )
            for key, limits in cluster.image.access.client_quotas.items()
            if wanted.matches(key, strict=request.strict)
        ),
    )


def _filter(components: tuple[ComponentData, ...]) -> _Filter:
    wanted = _Filter({}, set())
    for component in components:
        kind = component.entity_type
        if not kind:
            raise InvalidRequest("Invalid empty entity type.")
        if kind in wanted.exact or kind in wanted.specified:
            raise InvalidRequest(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (IP, USER, CLIENT_ID):
            raise UnsupportedVersion(f"Unsupported entity type {kind}")
        _add(wanted, component)
    kinds = set(wanted.exact) | wanted.specified
    if IP in kinds and len(kinds) > 1:
        raise InvalidRequest(
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId"
            " filter component."
        )
    return wanted


def _add(wanted: _Filter, component: ComponentData) -> None:
    match component.match_type:
        case 0:
            if component.match is None:
                raise InvalidRequest("Request specified MATCH_TYPE_EXACT, but set match string to null.")
            wanted.exact[component.entity_type] = component.match
        case 1:
            if component.match is not None:
                raise InvalidRequest("Request specified MATCH_TYPE_DEFAULT, but also specified a match string.")
            wanted.exact[component.entity_type] = None
        case 2:
            if component.match is not None:
                raise InvalidRequest("Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.")
            wanted.specified.add(component.entity_type)
        case unknown:
            raise InvalidRequest(f"Unknown match type {unknown}")
