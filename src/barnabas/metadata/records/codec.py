"""Metadata records as bytes: uvarint frame version, uvarint type, uvarint version, then the body.

Records are written in the versions of metadata.version 4.3-IV0; all older versions can be read.
"""

from typing import Final, NamedTuple, TypeAlias

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
from barnabas.wire.codec import decode, encode
from barnabas.wire.errors import CorruptMessage

FRAME_VERSION: Final = 1


class UnknownRecord(NamedTuple):
    """A record of a newer type or version. It can be printed, but not replayed."""

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

_PREFIXES: Final = {
    record_type: bytes((FRAME_VERSION, api_key, record_type.layout.last_version))  # uvarints of one byte
    for api_key, record_type in RECORD_TYPES.items()
}


def encode_metadata_record(record: MetadataRecord) -> bytes:
    return _PREFIXES[type(record)] + encode(record)


def decode_metadata_record(value: bytes) -> MetadataRecord | UnknownRecord:
    frame_version, position = _read_uvarint(value, 0)
    if frame_version != FRAME_VERSION:
        raise CorruptMessage(f"a metadata record has frame version {frame_version}; only {FRAME_VERSION} is supported")
    api_key, position = _read_uvarint(value, position)
    version, position = _read_uvarint(value, position)
    record_type = RECORD_TYPES.get(api_key)
    if record_type is None or version > record_type.layout.last_version:
        return UnknownRecord(api_key, version, value[position:])
    return decode(record_type, value, position, version=version)


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
    raise CorruptMessage("a metadata record has an incomplete frame header")
