"""Requests and answers between replicas, without their bytes; the shell translates them from and to `wire.messages`.

An error is a class of `wire.errors`, or None. Every answer says which epoch and leader the sender knows.
"""

from typing import NamedTuple, TypeAlias

from barnabas.raft.core.election_state import NO_LEADER
from barnabas.raft.core.log_view import LogBatch, LogPosition
from barnabas.raft.core.snapshot_file import SnapshotId
from barnabas.raft.core.voters import Endpoints, ReplicaKey, VersionRange, Voter
from barnabas.wire.errors import KafkaError

Error: TypeAlias = type[KafkaError] | None


class CurrentLeader(NamedTuple):
    epoch: int
    leader_id: int = NO_LEADER
    endpoints: Endpoints = ()


class VoteRequest(NamedTuple):
    epoch: int
    """Of the candidate; in a pre-vote it is the epoch that it would leave."""
    candidate: ReplicaKey
    log_end: LogPosition
    pre_vote: bool
    voter: ReplicaKey | None = None
    """Who is asked; None before version 1."""
    cluster_id: str | None = None


class VoteResponse(NamedTuple):
    current: CurrentLeader
    granted: bool = False
    error: Error = None


class BeginQuorumEpochRequest(NamedTuple):
    leader: CurrentLeader
    voter: ReplicaKey | None = None
    cluster_id: str | None = None


class EndQuorumEpochRequest(NamedTuple):
    leader: CurrentLeader
    preferred_successors: tuple[ReplicaKey, ...] = ()
    cluster_id: str | None = None


class EpochResponse(NamedTuple):
    """The answer to BeginQuorumEpoch and EndQuorumEpoch."""

    current: CurrentLeader
    error: Error = None


class FetchRequest(NamedTuple):
    replica: ReplicaKey
    epoch: int
    position: LogPosition
    """The replica has everything below on its disk."""
    high_watermark: int | None = None
    """As the replica knows it; None: it does not want to hear when it advances (before version 18)."""
    max_wait_ms: int = 0
    cluster_id: str | None = None


class FetchResponse(NamedTuple):
    current: CurrentLeader
    error: Error = None
    high_watermark: int | None = None
    log_start_offset: int = -1
    diverging: LogPosition | None = None
    snapshot_id: SnapshotId | None = None
    read_offset: int | None = None
    """The shell of the sender reads batches from here, and puts them into the answer: committed or not."""
    batches: tuple[LogBatch, ...] = ()
    """The shell of the receiver found these in the answer."""


class FetchSnapshotRequest(NamedTuple):
    replica: ReplicaKey
    epoch: int
    snapshot_id: SnapshotId
    position: int
    cluster_id: str | None = None


class FetchSnapshotResponse(NamedTuple):
    current: CurrentLeader
    error: Error = None
    snapshot_id: SnapshotId | None = None
    size: int = 0
    position: int = 0
    data: bytes = b""
    """The shell of the sender reads it at `position`."""


class AddVoterRequest(NamedTuple):
    voter: Voter
    ack_when_committed: bool = True
    cluster_id: str | None = None


class RemoveVoterRequest(NamedTuple):
    voter: ReplicaKey
    cluster_id: str | None = None


class UpdateVoterRequest(NamedTuple):
    epoch: int
    voter: Voter
    cluster_id: str | None = None


class UpgradeKRaftVersionRequest(NamedTuple):
    """UpdateFeatures of kraft.version, the feature that Raft keeps itself."""

    version: int


class ChangeResponse(NamedTuple):
    """The answer to each of these four."""

    current: CurrentLeader
    error: Error = None
    message: str = ""


class ApiVersionsRequest(NamedTuple):
    """Asks a new voter which versions of kraft.version it supports."""


class ApiVersionsResponse(NamedTuple):
    kraft_versions: VersionRange | None = None
    error: Error = None


Request: TypeAlias = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | AddVoterRequest
    | RemoveVoterRequest
    | UpdateVoterRequest
    | UpgradeKRaftVersionRequest
    | ApiVersionsRequest
)
QuorumResponse: TypeAlias = VoteResponse | EpochResponse | FetchResponse | FetchSnapshotResponse | ChangeResponse
Response: TypeAlias = QuorumResponse | ApiVersionsResponse
