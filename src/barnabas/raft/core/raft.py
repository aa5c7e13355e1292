"""The core of Raft: gets events, returns what to write, send and answer. No I/O, no clock, no event loop.

    role         event                                                  next role
    Unattached   a higher epoch without a known leader                  Unattached, in that epoch
    Unattached   a leader in this epoch, or in a higher one             Follower, or Observer if it is no voter
    Unattached   election timeout, of a voter                           Prospective, in the same epoch
    Unattached   it is the only voter                                   Candidate, in the next epoch
    Follower     fetch timeout, or its leader resigns or is unreachable Prospective, in the same epoch
    Follower     a record says that it is no voter                      Observer
    Observer     a record says that it is a voter                       Follower
    Follower     a higher epoch                                         Unattached, Follower or Observer
    Prospective  a majority would vote for it                           Candidate, in the next epoch
    Prospective  a majority would not, or election timeout              Follower of the leader it had, or Unattached
    Prospective  election timeout, and it knows no leader               Prospective again
    Prospective  a higher epoch, or a leader in this one                Unattached, Follower
    Candidate    a majority granted its vote                            Leader, in the same epoch
    Candidate    election timeout, or some time after it lost           Prospective, in the same epoch
    Candidate    a higher epoch, or a leader in this one                Unattached, Follower
    Prospective  it stops                                               Unattached, in the same epoch
    Candidate    it stops                                               Unattached, in the same epoch
    Leader       a higher epoch                                         Unattached, Follower
    Leader       no majority fetches, it stops, or is no voter any more Resigned, in the same epoch
    Leader       the process ends                                       Resigned, in the same epoch, at the next start
    Resigned     election timeout                                       Unattached, in the next epoch
    Resigned     it is the only voter                                   Candidate, in the next epoch
    Resigned     a higher epoch                                         Unattached, Follower

An observer is in the roles Unattached and Observer, and never leaves them. Each role has a file with what it knows;
`quorum.py` has the transitions, `elections.py`, `following.py`, `serving.py` and `voter_changes.py` the rules.

Every event returns a `Ready`, and says when it wants `on_time` at the latest (`next_time_ms`).
"""

from collections.abc import Callable

from barnabas.raft.core.candidate import Candidate
from barnabas.raft.core.election_state import ElectionState
from barnabas.raft.core.elections import Elections
from barnabas.raft.core.follower import Follower
from barnabas.raft.core.following import Following
from barnabas.raft.core.leader import Leader
from barnabas.raft.core.log_view import LogView
from barnabas.raft.core.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    ChangeResponse,
    EndQuorumEpochRequest,
    EpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from barnabas.raft.core.observer import Observer
from barnabas.raft.core.prospective import Prospective
from barnabas.raft.core.quorum import LocalReplica, Quorum, Role
from barnabas.raft.core.ready import Ready, Send
from barnabas.raft.core.resigned import Resigned
from barnabas.raft.core.serving import Serving
from barnabas.raft.core.settings import QuorumSettings
from barnabas.raft.core.snapshot_file import SnapshotId
from barnabas.raft.core.unattached import Unattached
from barnabas.raft.core.voter_changes import VoterChanges
from barnabas.raft.core.voter_history import VoterHistory
from barnabas.raft.core.voters import VoterSet


class Raft:
    def __init__(
        self,
        *,
        local: LocalReplica,
        history: VoterHistory,
        log: LogView,
        election: ElectionState | None,
        random_below: Callable[[int], int],
        settings: QuorumSettings | None = None,
    ) -> None:
        """`history`: as the newest snapshot and all of the log say. `random_below(n)`: one of 0 to n-1."""
        self.quorum = Quorum(
            local=local,
            history=history,
            log=log,
            election=election,
            settings=settings or QuorumSettings(),
            random_below=random_below,
        )
        self.elections = Elections(self.quorum)
        self.following = Following(self.quorum)
        self.changes = VoterChanges(self.quorum)
        self.serving = Serving(self.quorum, self.changes)
        self.next_time_ms = 0

    # What the shell may know

    @property
    def role(self) -> Role:
        return self.quorum.role

    @property
    def epoch(self) -> int:
        return self.quorum.epoch

    @property
    def leader_id(self) -> int:
        return self.quorum.leader_id

    @property
    def voters(self) -> VoterSet:
        return self.quorum.voters

    @property
    def history(self) -> VoterHistory:
        return self.quorum.history

    @property
    def high_watermark(self) -> int | None:
        return self.quorum.high_watermark

    def may_append(self, now_ms: int) -> bool:
        """Whether this replica leads, its first record is in the log, and no other can have taken over unnoticed."""
        role = self.role
        if not isinstance(role, Leader) or not role.is_established:
            return False
        deadline_ms = role.quorum_deadline_ms(self.voters, self.quorum.settings.check_quorum_timeout_ms)
        return deadline_ms is None or now_ms < deadline_ms

    def may_read(self, now_ms: int) -> bool:
        """Whether what this replica knows as committed includes all that was when it was elected."""
        role = self.role
        return self.may_append(now_ms) and isinstance(role, Leader) and role.high_watermark is not None

    # Events

    def start(self, now_ms: int) -> Ready:
        self.quorum.start(now_ms)
        return self._finish(now_ms)

    def on_time(self, now_ms: int) -> Ready:
        return self._finish(now_ms)

    def on_persisted(self, election: ElectionState, now_ms: int) -> Ready:
        """The election state of a `Ready` is on disk."""
        if election == self.quorum.unpersisted:
            self.quorum.unpersisted = None
            self.elections.on_persisted(now_ms)
        return self._finish(now_ms)

    def on_log_changed(self, now_ms: int) -> Ready:
        """The log was changed as a `Ready` said, or records were appended to it as `may_append` allows."""
        self.serving.answer_parked(now_ms)
        return self._finish(now_ms)

    def on_synced(self, end_offset: int, now_ms: int) -> Ready:
        """Everything below `end_offset` is on our disk."""
        self.quorum.synced_end = max(self.quorum.synced_end, end_offset)
        self.serving.commit(now_ms)
        return self._finish(now_ms)

    def on_snapshot_verified(self, snapshot_id: SnapshotId, voters: VoterSet, kraft_version: int, now_ms: int) -> Ready:
        """It is whole and on disk, and contains these voters."""
        self.following.on_snapshot_verified(snapshot_id, voters, kraft_version, now_ms)
        return self._finish(now_ms)

    def on_snapshot_damaged(self, snapshot_id: SnapshotId, now_ms: int) -> Ready:
        self.following.on_snapshot_damaged(snapshot_id, now_ms)
        return self._finish(now_ms)

    def on_leader_unreachable(self, leader_id: int, now_ms: int) -> Ready:
        """Connections to each of its endpoints are refused. A time-out would say nothing, but this says it is dead."""
        if leader_id == self.leader_id:
            self.following.on_leader_unreachable(now_ms)
        return self._finish(now_ms)

    def stop(self, now_ms: int) -> Ready:
        """Hand over: a leader resigns, and nobody here campaigns any more."""
        self.quorum.is_stopping = True
        if isinstance(self.role, Leader):
            self.quorum.resign(now_ms)
        elif isinstance(self.role, Prospective | Candidate):
            self.quorum.become_unattached(self.epoch, now_ms, leader_id=self.quorum.election.leader_id)
        return self._finish(now_ms)

    def on_request(self, request_id: object, request: Request, now_ms: int) -> Ready:
        """Another replica or an admin asks. The answer is in this `Ready` or in a later one."""
        # After a pause: a fetch that has waited since before it does not say that its sender still follows us.
        self.serving.check_quorum(now_ms)
        match request:
            case VoteRequest():
                self.elections.on_vote(request_id, request, now_ms)
            case BeginQuorumEpochRequest():
                self.elections.on_begin_epoch(request_id, request, now_ms)
            case EndQuorumEpochRequest():
                self.elections.on_end_epoch(request_id, request, now_ms)
            case FetchRequest():
                self.serving.on_fetch(request_id, request, now_ms)
            case FetchSnapshotRequest():
                self.serving.on_fetch_snapshot(request_id, request, now_ms)
            case ApiVersionsRequest():
                self.quorum.answer(request_id, ApiVersionsResponse(self.quorum.local.voter.kraft_versions))
            case _:
                self.changes.on_request(request_id, request, now_ms)
        return self._finish(now_ms)

    def on_response(self, request_id: int, response: Response, now_ms: int) -> Ready:
        send = self.quorum.requests.finish(request_id)
        if send is None:
            return Ready()  # nobody waits for it any more
        role = self.role
        if isinstance(response, ApiVersionsResponse):
            self.changes.on_versions(send, response, now_ms)
        elif response.current.epoch < self.epoch or not self.elections.learn(response.current, now_ms):
            self.quorum.requests.back_off(send.to.id, now_ms)
        elif self.role is role:
            if isinstance(role, Observer):
                self.following.on_leader_named(role, response.current, now_ms)
            self._on_response_of_role(send, response, now_ms)
        return self._finish(now_ms)

    def _on_response_of_role(self, send: Send, response: Response, now_ms: int) -> None:
        match response:
            case VoteResponse():
                self.elections.on_vote_response(send, response, now_ms)
            case EpochResponse():
                self._on_epoch_response(send, response, now_ms)
            case FetchResponse():
                self.following.on_fetch_response(send, response, now_ms)
            case FetchSnapshotResponse():
                self.following.on_snapshot_response(send, response, now_ms)
            case ChangeResponse():
                self.following.on_update_response(send, response)
            case ApiVersionsResponse():
                raise AssertionError("handled before")

    def _on_epoch_response(self, send: Send, response: EpochResponse, now_ms: int) -> None:
        role = self.role
        if response.error is not None:
            self.quorum.requests.back_off(send.to.id, now_ms)
        elif isinstance(role, Leader):
            role.acknowledged_ids.add(send.to.id)
        elif isinstance(role, Resigned):
            role.unacknowledged_ids.discard(send.to.id)

    def on_no_response(self, request_id: int, now_ms: int) -> Ready:
        """The connection broke, or it took too long."""
        send = self.quorum.requests.fail(request_id, now_ms)
        if send is None:
            return Ready()
        if isinstance(send.request, ApiVersionsRequest):
            self.changes.on_no_versions(send)
        self.following.on_no_response()
        return self._finish(now_ms)

    def _finish(self, now_ms: int) -> Ready:
        """Do what time brings, and hand out what is to be done."""
        for _ in range(len(Role.__args__)):  # no chain of transitions is longer
            next_ms = self._poll(now_ms)
            if next_ms > now_ms:
                break
        self.next_time_ms = max(next_ms, now_ms + 1)
        return self.quorum.take_ready()

    def _poll(self, now_ms: int) -> int:
        quorum, role = self.quorum, self.role
        if isinstance(role, Leader):
            return self.serving.poll(role, now_ms)
        if quorum.unpersisted is not None:
            return now_ms + quorum.settings.election_timeout_ms  # nothing can be sent before
        if isinstance(role, Follower):
            return self.following.poll(role, now_ms)
        if isinstance(role, Unattached) and not quorum.is_voter:
            return self.following.find_leader(now_ms)
        return self.elections.poll(now_ms)
