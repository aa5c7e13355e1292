"""Raft's own records, in control batches of the log and of snapshots."""

import uuid
from typing import Final, TypeVar

from barnabas.raft.core.voters import NO_DIRECTORY, ReplicaKey, VersionRange, Voter, VoterEndpoint, VoterSet
from barnabas.records.control import ControlType, encode_control_key
from barnabas.records.record import Record
from barnabas.wire.codec import decode, encode
from barnabas.wire.errors import CorruptMessage
from barnabas.wire.schema import Message, array, entity, int16, int32, int64, string, uint16, uuid_field

M = TypeVar("M", bound=Message)

KRAFT_VERSION: Final = 1
"""1: the voters are recorded in the log. With 0 they are in the configuration of every node."""


class LeaderChangeVoter(Message, versions=(0, 0), flexible_since=0):
    voter_id: int = int32()


class LeaderChangeMessage(Message, versions=(0, 0), flexible_since=0):
    version: int = int16()
    leader_id: int = int32()
    voters: tuple[LeaderChangeVoter, ...] = array(LeaderChangeVoter)
    granting_voters: tuple[LeaderChangeVoter, ...] = array(LeaderChangeVoter)


class KRaftVersionRecord(Message, versions=(0, 0), flexible_since=0):
    version: int = int16()
    k_raft_version: int = int16()


class VotersRecordEndpoint(Message, versions=(0, 0), flexible_since=0):
    name: str = string()
    host: str = string()
    port: int = uint16()


class KRaftVersionFeature(Message, versions=(0, 0), flexible_since=0):
    min_supported_version: int = int16(0)
    max_supported_version: int = int16(KRAFT_VERSION)


class VotersRecordVoter(Message, versions=(0, 0), flexible_since=0):
    voter_id: int = int32()
    voter_directory_id: uuid.UUID | None = uuid_field()
    endpoints: tuple[VotersRecordEndpoint, ...] = array(VotersRecordEndpoint)
    k_raft_version_feature: KRaftVersionFeature = entity(KRaftVersionFeature)


class VotersRecord(Message, versions=(0, 0), flexible_since=0):
    version: int = int16()
    voters: tuple[VotersRecordVoter, ...] = array(VotersRecordVoter)


class SnapshotHeaderRecord(Message, versions=(0, 0), flexible_since=0):
    version: int = int16()
    last_contained_log_timestamp: int = int64()


class SnapshotFooterRecord(Message, versions=(0, 0), flexible_since=0):
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
    return Record(timestamp=timestamp, key=encode_control_key(_TYPES[type(message)]), value=encode(message))


def read_control(entity_type: type[M], record: Record) -> M:
    if record.value is None:
        raise CorruptMessage(f"a {entity_type.__name__} without a value at offset {record.offset}")
    return decode(entity_type, record.value)


def leader_change(leader_id: int, voters: VoterSet, granting_ids: tuple[int, ...]) -> LeaderChangeMessage:
    return LeaderChangeMessage(
        leader_id=leader_id,
        voters=tuple(LeaderChangeVoter(voter_id=voter_id) for voter_id in voters.ids),
        granting_voters=tuple(LeaderChangeVoter(voter_id=voter_id) for voter_id in granting_ids),
    )


def quorum_records(voters: VoterSet, kraft_version: int = KRAFT_VERSION) -> tuple[KRaftVersionRecord, VotersRecord]:
    """The records that name the voters, in a log or a snapshot."""
    return KRaftVersionRecord(k_raft_version=kraft_version), voters_record(voters)


def voters_record(voters: VoterSet) -> VotersRecord:
    return VotersRecord(
        voters=tuple(
            VotersRecordVoter(
                voter_id=voter.key.id,
                voter_directory_id=voter.key.directory_id,
                endpoints=tuple(
                    VotersRecordEndpoint(name=name, host=host, port=port) for name, host, port in voter.endpoints
                ),
                k_raft_version_feature=KRaftVersionFeature(
                    min_supported_version=voter.kraft_versions.min, max_supported_version=voter.kraft_versions.max
                ),
            )
            for voter in voters.voters
        )
    )


def voters_of(record: VotersRecord) -> VoterSet:
    return VoterSet(
        tuple(
            Voter(
                ReplicaKey(voter.voter_id, voter.voter_directory_id or NO_DIRECTORY),
                tuple(VoterEndpoint(each.name, each.host, each.port) for each in voter.endpoints),
                VersionRange(
                    voter.k_raft_version_feature.min_supported_version,
                    voter.k_raft_version_feature.max_supported_version,
                ),
            )
            for voter in record.voters
        )
    )


def read_voters(record: Record) -> VoterSet:
    return voters_of(read_control(VotersRecord, record))
