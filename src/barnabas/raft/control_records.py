"""Raft's own records, in control batches of the log and of snapshots."""

import uuid
from typing import Final, TypeVar

from barnabas.raft.voters import ReplicaKey, Voter, VoterEndpoint, VoterSet
from barnabas.records.control import ControlType, encode_control_key
from barnabas.records.record import Record
from barnabas.wire.entities import (
    array,
    decode_entity,
    encode_entity,
    int16,
    int32,
    int64,
    kafka_entity,
    string,
    uint16,
    uuid_field,
)
from barnabas.wire.errors import CorruptMessage

T = TypeVar("T")

KRAFT_VERSION: Final = 1
"""1: the voters are recorded in the log. With 0 they are in the configuration of every node."""


@kafka_entity(version=0, flexible=True)
class LeaderChangeVoter:
    voter_id: int = int32()


@kafka_entity(version=0, flexible=True)
class LeaderChangeMessage:
    version: int = int16()
    leader_id: int = int32()
    voters: tuple[LeaderChangeVoter, ...] = array()
    granting_voters: tuple[LeaderChangeVoter, ...] = array()


@kafka_entity(version=0, flexible=True)
class KRaftVersionRecord:
    version: int = int16()
    k_raft_version: int = int16()


@kafka_entity(version=0, flexible=True)
class VotersRecordEndpoint:
    name: str = string()
    host: str = string()
    port: int = uint16()


@kafka_entity(version=0, flexible=True)
class KRaftVersionFeature:
    min_supported_version: int = int16(0)
    max_supported_version: int = int16(KRAFT_VERSION)


@kafka_entity(version=0, flexible=True)
class VotersRecordVoter:
    voter_id: int = int32()
    voter_directory_id: uuid.UUID | None = uuid_field()
    endpoints: tuple[VotersRecordEndpoint, ...] = array()
    k_raft_version_feature: KRaftVersionFeature = KRaftVersionFeature()


@kafka_entity(version=0, flexible=True)
class VotersRecord:
    version: int = int16()
    voters: tuple[VotersRecordVoter, ...] = array()


@kafka_entity(version=0, flexible=True)
class SnapshotHeaderRecord:
    version: int = int16()
    last_contained_log_timestamp: int = int64()


@kafka_entity(version=0, flexible=True)
class SnapshotFooterRecord:
    version: int = int16()


ControlMessage = LeaderChangeMessage | KRaftVersionRecord | VotersRecord | SnapshotHeaderRecord | SnapshotFooterRecord

_TYPES: Final[dict[type[ControlMessage], ControlType]] = {
    LeaderChangeMessage: ControlType.LEADER_CHANGE,
    KRaftVersionRecord: ControlType.KRAFT_VERSION,
    VotersRecord: ControlType.KRAFT_VOTERS,
    SnapshotHeaderRecord: ControlType.SNAPSHOT_HEADER,
    SnapshotFooterRecord: ControlType.SNAPSHOT_FOOTER,
}


def control_record(message: ControlMessage, *, timestamp: int) -> Record:
    return Record(timestamp=timestamp, key=encode_control_key(_TYPES[type(message)]), value=encode_entity(message))


def read_control(entity_type: type[T], record: Record) -> T:
    if record.value is None:
        raise CorruptMessage(f"a {entity_type.__name__} without a value at offset {record.offset}")
    return decode_entity(entity_type, record.value)


def leader_change(leader_id: int, voters: VoterSet, granting_ids: tuple[int, ...]) -> LeaderChangeMessage:
    return LeaderChangeMessage(
        leader_id=leader_id,
        voters=tuple(LeaderChangeVoter(voter_id=voter_id) for voter_id in voters.ids),
        granting_voters=tuple(LeaderChangeVoter(voter_id=voter_id) for voter_id in granting_ids),
    )


def quorum_records(voters: VoterSet) -> tuple[KRaftVersionRecord, VotersRecord]:
    """The records that name the voters, in a log or a snapshot."""
    return KRaftVersionRecord(k_raft_version=KRAFT_VERSION), VotersRecord(
        voters=tuple(
            VotersRecordVoter(
                voter_id=key.id,
                voter_directory_id=key.directory_id,
                endpoints=tuple(
                    VotersRecordEndpoint(name=name, host=host, port=port) for name, host, port in endpoints
                ),
            )
            for key, endpoints in voters.voters
        )
    )


def read_voters(record: Record) -> VoterSet:
    return VoterSet(
        tuple(
            Voter(
                ReplicaKey(voter.voter_id, voter.voter_directory_id or uuid.UUID(int=0)),
                tuple(VoterEndpoint(each.name, each.host, each.port) for each in voter.endpoints),
            )
            for voter in read_control(VotersRecord, record).voters
        )
    )
