"""What all parts of the core share: the election, the role, the voters, the log, and what is to be done next.

An election is changed here and nowhere else. While a change is not on disk, everything that was decided since is held
back, so that no answer, vote or record can depend on what a crash would undo.
"""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from barnabas.raft.core.candidate import Candidate
from barnabas.raft.core.control_records import ControlMessage, leader_change, quorum_records
from barnabas.raft.core.election_state import NO_LEADER, ElectionState
from barnabas.raft.core.follower import Follower
from barnabas.raft.core.leader import Leader
from barnabas.raft.core.log_view import LogBatch, LogView
from barnabas.raft.core.messages import ChangeResponse, CurrentLeader, FetchResponse, Request, Response
from barnabas.raft.core.observer import LeaderSearch, Observer
from barnabas.raft.core.prospective import Prospective
from barnabas.raft.core.ready import Answer, ControlBatch, Outbox, Peer, Ready
from barnabas.raft.core.requests import Requests
from barnabas.raft.core.resigned import Resigned
from barnabas.raft.core.settings import (
    ELECTION_BACKOFF_BASE_MS,
    UNREACHABLE_JITTER_MS,
    UPDATE_VOTER_FACTOR,
    QuorumSettings,
)
from barnabas.raft.core.tally import Tally
from barnabas.raft.core.unattached import Unattached
from barnabas.raft.core.voter_history import BEFORE_THE_LOG, VoterHistory
from barnabas.raft.core.voters import Endpoints, ReplicaKey, Voter, VoterSet
from barnabas.wire.errors import NotLeaderOrFollower

Role: TypeAlias = Unattached | Follower | Observer | Prospective | Candidate | Leader | Resigned


class LocalReplica(Struct, frozen=True):
    voter: Voter
    """Who we are, where we listen and what we support: what the record of voters should say if we are one."""
    cluster_id: str
    bootstrap: tuple[Peer, ...] = ()
    """controller.quorum.bootstrap.servers: where a replica that is no voter looks for the leader."""

    @property
    def key(self) -> ReplicaKey:
        return self.voter.key


class Quorum:
    def __init__(
        self,
        *,
        local: LocalReplica,
        history: VoterHistory,
        log: LogView,
        election: ElectionState | None,
        settings: QuorumSettings,
        random_below: Callable[[int], int],
    ) -> None:
        self.local = local
        self.history = history
        self.log = log
        self.settings = settings
        self.random_below = random_below
        self.requests = Requests(timeout_ms=settings.request_timeout_ms, backoff_ms=settings.retry_backoff_ms)
        self.search = LeaderSearch(local.bootstrap)
        self.outbox = Outbox()
        self.synced_end = 0
        snapshot_id = log.latest_snapshot
        self.high_watermark: int | None = snapshot_id.end_offset if snapshot_id else None
        """What is known to be committed, in any role; it never decreases. A snapshot is of committed records."""
        self.is_stopping = False
        self.elections_lost = 0
        """Since a leader was last heard."""
        self.quick_campaigns = 0
        """Since a leader was last heard: campaigns because it is unreachable."""
        stored = election or ElectionState(0)
        self.election = ElectionState(log.last_epoch) if log.last_epoch > stored.epoch else stored
        self.unpersisted: ElectionState | None = None if self.election == stored else self.election
        self.role: Role = Unattached(0)

    @property
    def epoch(self) -> int:
        return self.election.epoch

    @property
    def leader_id(self) -> int:
        return NO_LEADER if isinstance(self.role, Resigned) else self.election.leader_id

    @property
    def voters(self) -> VoterSet:
        return self.history.voters

    @property
    def is_voter(self) -> bool:
        return self.local.key in self.voters

    @property
    def is_synced(self) -> bool:
        return self.synced_end >= self.log.end_offset

    @property
    def is_log_changing(self) -> bool:
        """What `log` says is out of date: the next `Ready` changes it."""
        outbox = self.outbox
        return bool(outbox.write or outbox.append) or (outbox.truncate_to, outbox.restart_log_at) != (None, None)

    def current(self) -> CurrentLeader:
        """What an answer says about the leader."""
        leader_id = self.leader_id
        if leader_id == self.local.key.id:
            return CurrentLeader(self.epoch, leader_id, self.local.voter.endpoints)
        endpoints: Endpoints = ()
        if leader_id != NO_LEADER:
            role = self.role
            known = role.leader_endpoints if isinstance(role, Follower | Prospective) else ()
            endpoints = known or self.voters.endpoints(leader_id)
        return CurrentLeader(self.epoch, leader_id, endpoints)

    def peers(self) -> tuple[Peer, ...]:
        """The other voters."""
        local = self.local.key
        return tuple(
            Peer(voter.key.id, voter.endpoints) for voter in self.voters.voters if not voter.key.matches(local)
        )

    # What is to be done

    def send(self, peer: Peer, request: Request, now_ms: int) -> int:
        sent = self.requests.send(peer, request, now_ms)
        self.outbox.send.append(sent)
        return sent.request_id

    def answer(self, request_id: object, response: Response) -> None:
        self.outbox.answer.append(Answer(request_id, response))

    def append(self, messages: tuple[ControlMessage, ...]) -> int:
        """A control batch of the leader. Returns the offset of its last record."""
        base_offset = self.log.end_offset
        self.outbox.append.append(ControlBatch(base_offset, self.epoch, messages))
        end_offset = base_offset + len(messages)
        self.history.add(LogBatch(base_offset, end_offset, self.epoch, b"", messages))
        return end_offset - 1

    def advance_high_watermark(self, offset: int) -> None:
        if self.high_watermark is None or offset > self.high_watermark:
            self.high_watermark = self.outbox.high_watermark = offset

    def take_ready(self) -> Ready:
        if self.unpersisted is None:
            ready, self.outbox = self.outbox.as_ready(), Outbox()
            return ready
        election, self.outbox.election = self.outbox.election, None
        return Ready(election=election)

    # Transitions: see the table in `raft.py`

    def start(self, now_ms: int) -> None:
        if self.unpersisted is not None:
            self.outbox.election = self.unpersisted
        leader_id = self.election.leader_id
        endpoints = self.voters.endpoints(leader_id)
        if leader_id == self.local.key.id:
            self.role = Resigned(now_ms + self.random_timeout_ms())
        elif leader_id != NO_LEADER and endpoints:
            self.role = self._following(endpoints, now_ms)
        else:
            self.role = Unattached(now_ms + self.random_timeout_ms())

    def become_unattached(self, epoch: int, now_ms: int, *, leader_id: int = NO_LEADER) -> None:
        role = self.role
        deadline_ms = now_ms + self.random_timeout_ms()
        if isinstance(role, Unattached | Candidate) or (isinstance(role, Prospective) and not role.tally.is_lost):
            deadline_ms = role.election_deadline_ms
        self._change_role(Unattached(deadline_ms), self._in_epoch(epoch, leader_id))

    def become_follower(self, epoch: int, leader_id: int, endpoints: Endpoints, now_ms: int) -> None:
        self._change_role(self._following(endpoints, now_ms), self._in_epoch(epoch, leader_id))

    def become_prospective(self, now_ms: int, timeout_ms: int | None = None) -> None:
        role = self.role
        endpoints = role.leader_endpoints if isinstance(role, Follower | Prospective) else ()
        if timeout_ms is None:
            timeout_ms = self.random_timeout_ms()
        prospective = Prospective(Tally(self.voters), now_ms + timeout_ms, endpoints)
        prospective.tally.record(self.local.key.id, granted=True)
        self._change_role(prospective, self.election)

    def become_candidate(self, now_ms: int) -> None:
        candidate = Candidate(Tally(self.voters), now_ms + self.random_timeout_ms())
        self._change_role(candidate, ElectionState(self.epoch + 1, voted=self.local.key))

    def become_leader(self, candidate: Candidate, now_ms: int) -> None:
        local = self.local.key
        granting_ids = frozenset(candidate.tally.granting_ids)
        leader = Leader(local, self.log.end_offset, now_ms, granting_ids, begin_epoch_ms=now_ms)
        # As Kafka writes it: who leads has voted for itself.
        self._change_role(leader, ElectionState(self.epoch, leader_id=local.id))
        self.append(self._start_of_epoch(granting_ids))

    def _start_of_epoch(self, granting_ids: frozenset[int]) -> tuple[ControlMessage, ...]:
        first = leader_change(self.local.key.id, self.voters, tuple(sorted(granting_ids)))
        if self.history.kraft_version == 0:
            return (first,)
        # The very first leader copies the voters from the bootstrap snapshot into the log; one that has moved says so.
        if self.history.voters_offset == BEFORE_THE_LOG or self.needs_voter_update:
            return (first, *quorum_records(self.voters.with_voter(self.local.voter), self.history.kraft_version))
        return (first,)

    @property
    def needs_voter_update(self) -> bool:
        recorded = self.voters.find(self.local.key.id)
        return recorded is not None and recorded.key.matches(self.local.key) and recorded != self.local.voter

    def resign(self, now_ms: int) -> None:
        leader = self.role
        assert isinstance(leader, Leader)
        others = {peer.id for peer in self.peers()}
        resigned = Resigned(now_ms + self.random_timeout_ms(), leader.successors(self.voters), others)
        self._change_role(resigned, self.election)

    def settle_membership(self, now_ms: int) -> None:
        """The voters changed: a follower may have become an observer, or an observer a follower."""
        role = self.role
        if isinstance(role, Follower) and isinstance(role, Observer) == self.is_voter:
            following = self._following(role.leader_endpoints, now_ms)
            following.download = role.download
            following.has_fetched = role.has_fetched
            self.role = following

    def add_vote(self, candidate: ReplicaKey, now_ms: int) -> None:
        """Ours in this epoch. The candidate is as good as we are: give it time."""
        assert isinstance(self.role, Unattached | Prospective)
        self._persist(self.election._replace(voted=candidate))
        self.role.election_deadline_ms = now_ms + self.random_timeout_ms()

    def _following(self, endpoints: Endpoints, now_ms: int) -> Follower:
        timeout_ms = self.settings.fetch_timeout_ms
        kind = Follower if self.is_voter else Observer
        return kind(endpoints, now_ms + timeout_ms, now_ms + UPDATE_VOTER_FACTOR * timeout_ms)

    def _in_epoch(self, epoch: int, leader_id: int) -> ElectionState:
        voted = self.election.voted if epoch == self.epoch else None
        return ElectionState(epoch, leader_id, voted)

    def _change_role(self, role: Role, election: ElectionState) -> None:
        left, self.role = self.role, role
        self._persist(election)
        self.requests.reset()
        self.outbox.send.clear()
        if isinstance(left, Leader):
            self._leave(left)

    def _leave(self, leader: Leader) -> None:
        for batch in self.outbox.append:  # not written: the leadership was not even on disk
            self.history.truncate(batch.base_offset)
        self.outbox.append.clear()
        for request_id in leader.parked:
            self.answer(request_id, FetchResponse(self.current(), NotLeaderOrFollower))
        if leader.change is not None:
            self.answer(leader.change.request_id, ChangeResponse(self.current(), NotLeaderOrFollower))

    def _persist(self, election: ElectionState) -> None:
        if election != self.election:
            self.election = self.unpersisted = self.outbox.election = election

    # Times

    def random_timeout_ms(self) -> int:
        timeout_ms = self.settings.election_timeout_ms
        return timeout_ms + self.random_below(timeout_ms)

    def random_backoff_ms(self) -> int:
        """After a lost election."""
        span_ms = min(ELECTION_BACKOFF_BASE_MS << min(10, self.elections_lost), self.settings.election_backoff_max_ms)
        self.elections_lost += 1
        return 1 + self.random_below(span_ms)

    def quick_timeout_ms(self) -> int:
        """Of a campaign against a leader that is unreachable. The others may notice that a little later than we do, so
        the first attempts are short; later ones allow for slow networks."""
        short_ms = (2 * UNREACHABLE_JITTER_MS + self.random_below(UNREACHABLE_JITTER_MS)) << min(
            10, self.quick_campaigns
        )
        self.quick_campaigns += 1
        return min(short_ms, self.random_timeout_ms())

    def on_leader_heard(self) -> None:
        self.elections_lost = self.quick_campaigns = 0
