"""Records about who may do what, and how much: ACLs, SCRAM credentials, delegation tokens, client quotas."""

import uuid

from barnabas.wire.entities import (
    array,
    array_of,
    boolean,
    bytes_field,
    float64,
    int8,
    int32,
    int64,
    kafka_entity,
    string,
    uuid_field,
)


@kafka_entity(version=0, flexible=True)
class AccessControlEntryRecord:
    id: uuid.UUID | None = uuid_field()
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8()
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


@kafka_entity(version=0, flexible=True)
class RemoveAccessControlEntryRecord:
    id: uuid.UUID | None = uuid_field()


@kafka_entity(version=0, flexible=True)
class UserScramCredentialRecord:
    name: str = string()
    mechanism: int = int8()
    salt: bytes = bytes_field()
    stored_key: bytes = bytes_field()
    server_key: bytes = bytes_field()
    iterations: int = int32()


@kafka_entity(version=0, flexible=True)
class RemoveUserScramCredentialRecord:
    name: str = string()
    mechanism: int = int8()


@kafka_entity(version=0, flexible=True)
class DelegationTokenRecord:
    owner: str = string()
    requester: str = string()
    renewers: tuple[str, ...] = array_of("string")
    issue_timestamp: int = int64()
    max_timestamp: int = int64()
    expiration_timestamp: int = int64()
    token_id: str = string()


@kafka_entity(version=0, flexible=True)
class RemoveDelegationTokenRecord:
    token_id: str = string()


@kafka_entity(version=0, flexible=True)
class QuotaEntity:
    entity_type: str = string()
    entity_name: str | None = string(None)
    """None: the default of that type."""


@kafka_entity(version=0, flexible=True)
class ClientQuotaRecord:
    entity: tuple[QuotaEntity, ...] = array()
    key: str = string()
    value: float = float64()
    remove: bool = boolean()
