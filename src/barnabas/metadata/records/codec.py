"""Metadata records as bytes: uvarint frame version, uvarint type, uvarint version, then the body.

We write each record at the version that metadata.version 4.3-IV0 calls for and read every older one. Most versions
only added tagged fields, which an older body simply lacks, so the newest class reads it as it is; the few fields that
were added in the middle are named in `_ADDED_UNTAGGED`, and the older shapes are derived from that.
"""

import dataclasses
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias, cast

from barnabas.metadata.records.access import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from barnabas.metadata.records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from barnabas.metadata.records.cluster import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
    ProducerIdsRecord,
    ZkMigrationStateRecord,
)
from barnabas.metadata.records.topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from barnabas.wire.entities import decode_entity, encode_entity, kafka_entity
from barnabas.wire.errors import CorruptMessage

FRAME_VERSION: Final = 1


class UnknownRecord(NamedTuple):
    """A record of a type or version newer than we know. It can be shown; it cannot be replayed."""

    api_key: int
    version: int
    body: bytes


MetadataRecord: TypeAlias = (
    RegisterBrokerRecord
    | UnregisterBrokerRecord
    | TopicRecord
    | PartitionRecord
    | ConfigRecord
    | PartitionChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | RemoveTopicRecord
    | DelegationTokenRecord
    | UserScramCredentialRecord
    | FeatureLevelRecord
    | ClientQuotaRecord
    | ProducerIdsRecord
    | BrokerRegistrationChangeRecord
    | AccessControlEntryRecord
    | RemoveAccessControlEntryRecord
    | NoOpRecord
    | ZkMigrationStateRecord
    | RemoveUserScramCredentialRecord
    | BeginTransactionRecord
    | EndTransactionRecord
    | AbortTransactionRecord
    | RemoveDelegationTokenRecord
    | RegisterControllerRecord
    | ClearElrRecord
)

RECORD_TYPES: Final[dict[int, type[MetadataRecord]]] = {
    0: RegisterBrokerRecord,
    1: UnregisterBrokerRecord,
    2: TopicRecord,
    3: PartitionRecord,
    4: ConfigRecord,
    5: PartitionChangeRecord,
    7: FenceBrokerRecord,
    8: UnfenceBrokerRecord,
    9: RemoveTopicRecord,
    10: DelegationTokenRecord,
    11: UserScramCredentialRecord,
    12: FeatureLevelRecord,
    14: ClientQuotaRecord,
    15: ProducerIdsRecord,
    17: BrokerRegistrationChangeRecord,
    18: AccessControlEntryRecord,
    19: RemoveAccessControlEntryRecord,
    20: NoOpRecord,
    21: ZkMigrationStateRecord,
    22: RemoveUserScramCredentialRecord,
    23: BeginTransactionRecord,
    24: EndTransactionRecord,
    25: AbortTransactionRecord,
    26: RemoveDelegationTokenRecord,
    27: RegisterControllerRecord,
    28: ClearElrRecord,
}
"""By Kafka's api key; Kafka 4.3 has no records for the keys missing here."""

_ADDED_UNTAGGED: Final[dict[type[MetadataRecord], dict[str, int]]] = {
    RegisterBrokerRecord: {"in_controlled_shutdown": 1, "is_migrating_zk_broker": 2},
    PartitionRecord: {"directories": 1},
}
"""Fields that are not tagged and not in version 0, with the version that added them."""


def _version_of(record_type: type) -> int:
    return cast(int, cast(Any, record_type).__version__)


_PREFIXES: Final = {
    record_type: bytes((FRAME_VERSION, api_key, _version_of(record_type)))  # each below 128: a uvarint of one byte
    for api_key, record_type in RECORD_TYPES.items()
}


def encode_metadata_record(record: MetadataRecord) -> bytes:
    return _PREFIXES[type(record)] + encode_entity(record)


def decode_metadata_record(value: bytes) -> MetadataRecord | UnknownRecord:
    frame_version, position = _read_uvarint(value, 0)
    if frame_version != FRAME_VERSION:
        raise CorruptMessage(f"a metadata record of frame version {frame_version}; only {FRAME_VERSION} is known")
    api_key, position = _read_uvarint(value, position)
    version, position = _read_uvarint(value, position)
    record_type = RECORD_TYPES.get(api_key)
    if record_type is None or version > _version_of(record_type):
        return UnknownRecord(api_key, version, value[position:])
    shape = _shape(api_key, version)
    record = decode_entity(shape, value, position)
    if shape is record_type:
        return cast(MetadataRecord, record)
    present = {field.name: getattr(record, field.name) for field in dataclasses.fields(cast(Any, record))}
    return cast(MetadataRecord, cast(Any, record_type)(**present))


@cache
def _shape(api_key: int, version: int) -> type[object]:
    """The class that reads this version: the newest one, or the newest one less the fields that came later."""
    record_type = RECORD_TYPES[api_key]
    later = {name for name, added in _ADDED_UNTAGGED.get(record_type, {}).items() if added > version}
    if not later:
        return record_type
    kept = [field for field in dataclasses.fields(cast(Any, record_type)) if field.name not in later]
    namespace: dict[str, object] = {
        field.name: dataclasses.field(default=field.default, metadata=field.metadata) for field in kept
    }
    namespace["__annotations__"] = {field.name: field.type for field in kept}
    return kafka_entity(version=version, flexible=True)(type(record_type.__name__, (), namespace))


def _read_uvarint(value: bytes, position: int) -> tuple[int, int]:
    result = 0
    for shift in range(0, 35, 7):
        if position >= len(value):
            break
        byte = value[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
    raise CorruptMessage("a metadata record without a whole frame header")
