"""The record of a classic group in __consumer_offsets, byte for byte Apache Kafka's: its last generation.

Written in version 3, as Kafka 4.3 does; all versions are read.
"""

from typing import Final

from barnabas.coordinator.group.common.record_format import RecordFormat
from barnabas.wire.schema import Message, array, bytes_field, int32, int64, since, string


class GroupMetadataKey(Message, versions=(0, 0), flexible_since=1):
    group: str = string()


class StoredMember(Message, versions=(0, 4), flexible_since=4):
    member_id: str = string()
    group_instance_id: str | None = since(3, string(None))
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = since(1, int32(-1))
    session_timeout: int = int32()
    subscription: bytes = bytes_field()
    assignment: bytes = bytes_field()


class StoredGroup(Message, versions=(0, 4), flexible_since=4):
    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(None)
    leader: str | None = string(None)
    current_state_timestamp: int = since(2, int64(-1))
    members: tuple[StoredMember, ...] = array(StoredMember)


CLASSIC_FORMATS: Final = (RecordFormat(2, GroupMetadataKey, StoredGroup, written_version=3),)
