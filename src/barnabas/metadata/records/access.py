"""Records of access control and quotas: ACLs, SCRAM credentials, delegation tokens, client quotas."""

import uuid

from barnabas.wire.schema import Message, array, boolean, bytes_field, float64, int8, int32, int64, string, uuid_field


class AccessControlEntryRecord(Message, versions=(0, 0), flexible_since=0):
    id: uuid.UUID | None = uuid_field()
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8()
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class RemoveAccessControlEntryRecord(Message, versions=(0, 0), flexible_since=0):
    id: uuid.UUID | None = uuid_field()


class UserScramCredentialRecord(Message, versions=(0, 0), flexible_since=0):
    name: str = string()
    mechanism: int = int8()
    salt: bytes = bytes_field()
    stored_key: bytes = bytes_field()
    server_key: bytes = bytes_field()
    iterations: int = int32()


class RemoveUserScramCredentialRecord(Message, versions=(0, 0), flexible_since=0):
    name: str = string()
    mechanism: int = int8()


class DelegationTokenRecord(Message, versions=(0, 0), flexible_since=0):
    owner: str = string()
    requester: str = string()
    renewers: tuple[str, ...] = array("string")
    issue_timestamp: int = int64()
    max_timestamp: int = int64()
    expiration_timestamp: int = int64()
    token_id: str = string()


class RemoveDelegationTokenRecord(Message, versions=(0, 0), flexible_since=0):
    token_id: str = string()


class QuotaEntity(Message, versions=(0, 0), flexible_since=0):
    entity_type: str = string()
    entity_name: str | None = string(None)
    """None: the default of that type."""


class ClientQuotaRecord(Message, versions=(0, 0), flexible_since=0):
    entity: tuple[QuotaEntity, ...] = array(QuotaEntity)
    key: str = string()
    value: float = float64()
    remove: bool = boolean()
