"""Decides AlterClientQuotas requests: limits for users, client ids and addresses.

All changes of an entity are applied, or none. If a request names an entity twice, the first entry is applied and the
second is an error.
"""

from collections.abc import Sequence
from typing import Final

from barnabas.controller.decisions.decision import Decision, Outcome, check_record_count
from barnabas.metadata.image import ClusterImage
from barnabas.metadata.records import ClientQuotaRecord, QuotaEntity
from barnabas.quotas.limits import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    QuotaKey,
)
from barnabas.wire.errors import InvalidRequest, KafkaError
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
)

# An integer up to this maximum, or any number.
_LONG: Final = ("a LONG", 2.0**63)
_INT: Final = ("an INT", 2.0**31 - 1)
_DOUBLE: Final = None
_CLIENT_LIMITS: Final = {
    PRODUCER_BYTE_RATE: _LONG,
    CONSUMER_BYTE_RATE: _LONG,
    REQUEST_PERCENTAGE: _DOUBLE,
    CONTROLLER_MUTATION_RATE: _DOUBLE,
}
_ADDRESS_LIMITS: Final = {CONNECTION_CREATION_RATE: _INT}
_FRACTION_MAX: Final = 1e-6


def quota_key(entity: Sequence[EntityData]) -> QuotaKey:
    """If a type is named twice, the last name is used."""
    named = {part.entity_type: part.entity_name for part in entity}
    return tuple(sorted(named.items(), key=lambda part: part[0]))


def decide_alter_client_quotas(
    image: ClusterImage, request: AlterClientQuotasRequest, *, unresolvable: frozenset[str] = frozenset()
) -> Decision[dict[QuotaKey, Outcome]]:
    """Returns the outcome of each entity. `unresolvable`: the host names in the request that cannot be resolved."""
    records: list[ClientQuotaRecord] = []
    outcomes: dict[QuotaKey, Outcome] = {}
    for entry in request.entries:
        key = quota_key(entry.entity)
        try:
            if key in outcomes or len({op.key for op in entry.ops}) < len(entry.ops):
                raise InvalidRequest(f"Ignoring duplicate entity ClientQuotaEntity(entries={_braces(key)})")
            _check_entity(key, unresolvable)
            changes = _changes(image, key, entry.ops)
            check_record_count(len(records) + len(changes))
        except KafkaError as error:
            outcomes[key] = error
        else:
            outcomes[key] = None
            records += changes
    return Decision(() if request.validate_only else tuple(records), outcomes)


def _check_entity(key: QuotaKey, unresolvable: frozenset[str]) -> None:
    for kind, name in key:
        if kind not in (USER, CLIENT_ID, IP):
            raise InvalidRequest(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise InvalidRequest(f"Empty {kind} not supported")
    kinds = dict(key)
    if not kinds:
        raise InvalidRequest("Invalid empty client quota entity")
    if IP in kinds and len(kinds) > 1:
        raise InvalidRequest("Invalid quota entity combination, IP entity should not be combined with User or ClientId")
    if kinds.get(IP) in unresolvable:
        raise InvalidRequest(f"{kinds[IP]} is not a valid IP or resolvable host.")


def _changes(image: ClusterImage, key: QuotaKey, operations: Sequence[OpData]) -> list[ClientQuotaRecord]:
    known = _ADDRESS_LIMITS if key[0][0] == IP else _CLIENT_LIMITS
    current = image.access.client_quotas.get(key, {})
    entity = tuple(QuotaEntity(entity_type=kind, entity_name=name) for kind, name in key)
    changes = []
    for operation in operations:
        name, limit = operation.key, operation.value
        if operation.remove:
            if name in current:
                changes.append(ClientQuotaRecord(entity=entity, key=name, remove=True))
            continue
        if name not in known:
            raise InvalidRequest(f"Invalid configuration key {name}")
        if not limit > 0:
            raise InvalidRequest(f"Quota {name} must be greater than 0")
        if (bound := known[name]) is not None:
            type_name, maximum = bound
            if limit > maximum:
                raise InvalidRequest(f"Proposed value for {name} is too large for {type_name}.")
            if limit % 1 > _FRACTION_MAX:
                raise InvalidRequest(f"{name} cannot be a fractional value.")
        if current.get(name) != limit:
            changes.append(ClientQuotaRecord(entity=entity, key=name, value=limit))
    return changes


def _braces(key: QuotaKey) -> str:
    return "{" + ", ".join(f"{kind}={name}" for kind, name in key) + "}"
