"""Cores that are broken on purpose, each in one rule. The simulation has to find every one of them."""

from barnabas.raft.core.follower import Follower
from barnabas.raft.core.following import Following
from barnabas.raft.core.leader import Leader
from barnabas.raft.core.messages import AddVoterRequest, ApiVersionsResponse, FetchSnapshotResponse
from barnabas.raft.core.raft import Raft
from barnabas.raft.core.ready import Ready, Send
from barnabas.raft.core.serving import Serving
from barnabas.raft.core.voter_changes import VoterChanges
from barnabas.raft.core.voter_history import VoterHistory
from barnabas.raft.core.voters import ReplicaKey, VersionRange, VoterSet


class VoteNotSynced(Raft):
    """What depends on a vote goes out while the vote is still being written."""

    def _finish(self, now_ms: int) -> Ready:
        election = self.quorum.outbox.election
        if election is not None:
            self.quorum.unpersisted = None
            self.elections.on_persisted(now_ms)
        ready = super()._finish(now_ms)
        self.quorum.unpersisted = None
        return ready


class CommitsUnsynced(Raft):
    """A follower fetches from where its log ends, and a leader counts the end of its log, synced or not."""

    def _finish(self, now_ms: int) -> Ready:
        if not self.quorum.is_log_changing:
            self.quorum.synced_end = self.quorum.log.end_offset
            self.serving.commit(now_ms)
        return super()._finish(now_ms)


class _CountsOldEpochs(Serving):
    def commit(self, now_ms: int) -> None:
        leader = self._quorum.role
        if isinstance(leader, Leader):
            leader.epoch_start_offset = -1
        super().commit(now_ms)


class CommitsOldEpochs(Raft):
    """A leader commits records of earlier epochs by counting replicas."""

    def __init__(self, **arguments: object) -> None:
        super().__init__(**arguments)
        self.serving = _CountsOldEpochs(self.quorum, self.changes)


class TruncatesToHighWatermark(Raft):
    """A follower of a new leader drops what it does not know to be committed, instead of comparing epochs."""

    def _finish(self, now_ms: int) -> Ready:
        quorum = self.quorum
        role = quorum.role
        if isinstance(role, Follower) and not role.has_fetched and not quorum.is_log_changing:
            role.has_fetched = True
            offset = max(quorum.high_watermark or 0, quorum.log.start_offset)
            if offset < quorum.log.end_offset:
                quorum.outbox.truncate_to = offset
                quorum.synced_end = min(quorum.synced_end, offset)
                quorum.history.truncate(offset)
                quorum.settle_membership(now_ms)
        return super()._finish(now_ms)


class _FirstChunkIsEnough(Following):
    def on_snapshot_response(self, send: Send, response: FetchSnapshotResponse, now_ms: int) -> None:
        super().on_snapshot_response(send, response, now_ms)
        quorum = self._quorum
        if quorum.outbox.chunk is not None:
            snapshot_id = quorum.outbox.chunk.snapshot_id
            quorum.outbox.verify = None
            self.on_snapshot_verified(snapshot_id, quorum.voters, quorum.history.kraft_version, now_ms)


class AppliesPartOfSnapshot(Raft):
    """A snapshot replaces the log when its first bytes have come."""

    def __init__(self, **arguments: object) -> None:
        super().__init__(**arguments)
        self.following = _FirstChunkIsEnough(self.quorum)


class _AnyNumberOfChanges(VoterChanges):
    def check_no_change_is_pending(self, leader: Leader) -> None:
        leader.change = None

    def _add(self, request_id: object, request: AddVoterRequest, leader: Leader, now_ms: int) -> None:
        change = self._pend(leader, request_id, request, now_ms)
        self._append_added(change, request, leader, ApiVersionsResponse(VersionRange(0, 1)), now_ms)


class ChangesVotersTwice(Raft):
    """A change of the voters does not wait for the one before it, nor a new leader for its first commit."""

    def __init__(self, **arguments: object) -> None:
        super().__init__(**arguments)
        self.changes = _AnyNumberOfChanges(self.quorum)
        self.serving = Serving(self.quorum, self.changes)


class _NoCheckQuorum(Serving):
    def check_quorum(self, now_ms: int) -> None:
        pass


class LeadsWithoutQuorum(Raft):
    """A leader that nobody follows any more does not notice."""

    def __init__(self, **arguments: object) -> None:
        super().__init__(**arguments)
        self.serving = _NoCheckQuorum(self.quorum, self.changes)

    def may_append(self, now_ms: int) -> bool:
        return isinstance(self.role, Leader) and self.role.is_established


class _NodeIdsOnly(VoterHistory):
    @property
    def voters(self) -> VoterSet:
        voters = super().voters.voters
        return VoterSet(tuple(voter._replace(key=ReplicaKey(voter.key.id)) for voter in voters))


class VotesWithNewDisk(Raft):
    """A voter is known by its node id alone: with an empty disk it votes again, as if it had its data."""

    def __init__(self, **arguments: object) -> None:
        super().__init__(**arguments)
        self.quorum.history.__class__ = _NodeIdsOnly


PLANTED = (
    VoteNotSynced,
    CommitsUnsynced,
    CommitsOldEpochs,
    TruncatesToHighWatermark,
    AppliesPartOfSnapshot,
    ChangesVotersTwice,
    LeadsWithoutQuorum,
    VotesWithNewDisk,
)
