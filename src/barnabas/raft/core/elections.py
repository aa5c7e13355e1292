"""Elections: who asks for votes, who gets them, and how the others learn who leads.

A vote goes to a replica whose log is at least as complete as ours, once in each epoch, and only when no leader is known
in it. A pre-vote says that a vote would be granted; it is refused by those who have a leader and hear from it.
"""

from barnabas.raft.core.candidate import Candidate
from barnabas.raft.core.election_state import NO_LEADER
from barnabas.raft.core.errors import wrong_cluster
from barnabas.raft.core.follower import Follower
from barnabas.raft.core.leader import Leader
from barnabas.raft.core.log_view import end_of
from barnabas.raft.core.messages import (
    BeginQuorumEpochRequest,
    CurrentLeader,
    EndQuorumEpochRequest,
    EpochResponse,
    Error,
    VoteRequest,
    VoteResponse,
)
from barnabas.raft.core.prospective import Prospective
from barnabas.raft.core.quorum import Quorum
from barnabas.raft.core.ready import Peer, Send
from barnabas.raft.core.resigned import Resigned
from barnabas.raft.core.unattached import Unattached
from barnabas.raft.core.voters import ReplicaKey
from barnabas.wire.errors import (
    FencedLeaderEpoch,
    InconsistentVoterSet,
    InvalidRequest,
    InvalidVoterKey,
    UnsupportedVersion,
)


class Elections:
    def __init__(self, quorum: Quorum) -> None:
        self._quorum = quorum

    # Requests

    def on_vote(self, request_id: object, request: VoteRequest, now_ms: int) -> None:
        error = wrong_cluster(self._quorum, request.cluster_id) or self._vote_error(request)
        granted = False
        if error is None:
            if request.epoch > self._quorum.epoch:
                self._quorum.become_unattached(request.epoch, now_ms)
            if not self._is_for_us(request.voter):
                error = InvalidVoterKey
            else:
                granted = self.can_grant(request)
                if granted and not request.pre_vote and self._quorum.election.voted is None:
                    self._quorum.add_vote(request.candidate, now_ms)
        self._quorum.answer(request_id, VoteResponse(self._quorum.current(), granted, error))

    def _vote_error(self, request: VoteRequest) -> Error:
        log_end = request.log_end
        # A pre-vote names the epoch of the last leader, a vote a later one.
        newest_epoch = request.epoch if request.pre_vote else request.epoch - 1
        if log_end.end_offset < 0 or not 0 <= log_end.epoch <= newest_epoch:
            return InvalidRequest
        return self._sender_error(request.candidate.id, request.epoch)

    def _sender_error(self, sender_id: int, epoch: int) -> Error:
        if epoch < self._quorum.epoch:
            return FencedLeaderEpoch
        if sender_id < 0 or sender_id == self._quorum.local.key.id:
            return InvalidRequest
        return None

    def _is_for_us(self, voter: ReplicaKey | None) -> bool:
        """Not if it is meant for the disk that this node had before."""
        return voter is None or voter.matches(self._quorum.local.key)

    def can_grant(self, request: VoteRequest) -> bool:
        quorum, role = self._quorum, self._quorum.role
        if isinstance(role, Leader) or request.log_end < end_of(quorum.log):
            return False
        if request.pre_vote:
            return not isinstance(role, Follower) or not role.has_fetched or role.is_leader_suspected
        if not isinstance(role, Unattached | Prospective) or quorum.election.leader_id != NO_LEADER:
            return False
        voted = quorum.election.voted
        return voted is None or voted.matches(request.candidate)

    def on_begin_epoch(self, request_id: object, request: BeginQuorumEpochRequest, now_ms: int) -> None:
        error = self._learn_from_leader(request.leader, request.cluster_id, now_ms)
        role = self._quorum.role
        if error is None and isinstance(role, Prospective) and role.leader_endpoints:
            self._give_up(role, now_ms)  # the leader that we gave up is there
        if error is None and not self._is_for_us(request.voter):
            error = InvalidVoterKey
        self._quorum.answer(request_id, EpochResponse(self._quorum.current(), error))

    def on_end_epoch(self, request_id: object, request: EndQuorumEpochRequest, now_ms: int) -> None:
        error = self._learn_from_leader(request.leader, request.cluster_id, now_ms)
        role = self._quorum.role
        if error is None and isinstance(role, Follower) and self._quorum.leader_id == request.leader.leader_id:
            role.is_leader_suspected = True
            role.campaign_ms = now_ms + self._delay_as_successor_ms(request.preferred_successors)
        self._quorum.answer(request_id, EpochResponse(self._quorum.current(), error))

    def _learn_from_leader(self, leader: CurrentLeader, cluster_id: str | None, now_ms: int) -> Error:
        error = wrong_cluster(self._quorum, cluster_id) or self._sender_error(leader.leader_id, leader.epoch)
        if error is None and not self.learn(leader, now_ms):
            error = InconsistentVoterSet
        return error

    def _delay_as_successor_ms(self, preferred: tuple[ReplicaKey, ...]) -> int:
        """The first successor campaigns at once, each later one after twice the delay of the one before it."""
        maximum_ms = self._quorum.settings.election_backoff_max_ms
        local = self._quorum.local.key
        position = next((index for index, key in enumerate(preferred) if key.matches(local)), None)
        if position is None:
            return maximum_ms
        if position == 0:
            return 0
        return min(maximum_ms, (maximum_ms >> (len(preferred) - 1)) << (position - 1))

    # What any message says about the leader

    def learn(self, current: CurrentLeader, now_ms: int) -> bool:
        """Go to the epoch and the leader that the message names, if they are news. False: that cannot be."""
        quorum = self._quorum
        if current.epoch < quorum.epoch or (current.epoch == quorum.epoch and current.leader_id == NO_LEADER):
            return True
        leader_id = current.leader_id
        if leader_id == quorum.local.key.id:
            # Only we make ourselves leader: what we hear is from an epoch that we led, or never will.
            if current.epoch > quorum.epoch:
                quorum.become_unattached(current.epoch, now_ms)
            return True
        endpoints = current.endpoints or quorum.voters.endpoints(leader_id)
        if current.epoch > quorum.epoch:
            if leader_id != NO_LEADER and endpoints:
                quorum.become_follower(current.epoch, leader_id, endpoints, now_ms)
            else:
                quorum.become_unattached(current.epoch, now_ms, leader_id=leader_id)
        elif quorum.election.leader_id not in (NO_LEADER, leader_id):
            return False
        elif endpoints and (quorum.election.leader_id == NO_LEADER or isinstance(quorum.role, Unattached)):
            quorum.become_follower(current.epoch, leader_id, endpoints, now_ms)
        return True

    # Responses

    def on_vote_response(self, send: Send, response: VoteResponse, now_ms: int) -> None:
        role, request = self._quorum.role, send.request
        assert isinstance(request, VoteRequest)
        if not isinstance(role, Prospective | Candidate) or request.pre_vote != isinstance(role, Prospective):
            return
        if response.error is UnsupportedVersion and request.pre_vote:
            role.tally.record(send.to.id, granted=True)  # it knows no pre-votes, and cannot be asked
        elif response.error is None:
            role.tally.record(send.to.id, granted=response.granted)
        else:
            self._quorum.requests.back_off(send.to.id, now_ms)
        self._count(now_ms)

    def on_persisted(self, now_ms: int) -> None:
        """The election state is on disk: a candidate's own vote counts now."""
        role = self._quorum.role
        if isinstance(role, Candidate):
            role.tally.record(self._quorum.local.key.id, granted=True)
            self._count(now_ms)
        elif isinstance(role, Leader):
            role.is_established = True

    def _count(self, now_ms: int) -> None:
        quorum, role = self._quorum, self._quorum.role
        if isinstance(role, Prospective):
            if role.tally.is_won:
                quorum.become_candidate(now_ms)
            elif role.tally.is_lost:
                self._give_up(role, now_ms)
        elif isinstance(role, Candidate) and not role.is_backing_off:
            if role.tally.is_won:
                quorum.become_leader(role, now_ms)
            elif role.tally.is_lost:
                role.is_backing_off = True
                role.election_deadline_ms = now_ms + quorum.random_backoff_ms()

    def _give_up(self, role: Prospective, now_ms: int) -> None:
        leader_id = self._quorum.election.leader_id
        if leader_id != NO_LEADER and role.leader_endpoints:
            self._quorum.become_follower(self._quorum.epoch, leader_id, role.leader_endpoints, now_ms)
        else:
            self._quorum.become_unattached(self._quorum.epoch, now_ms, leader_id=leader_id)

    # Time

    def poll(self, now_ms: int) -> int:
        """Returns when to call it again, in the roles that wait for an election."""
        quorum, role = self._quorum, self._quorum.role
        if isinstance(role, Unattached):
            return self._poll_unattached(role, now_ms)
        if isinstance(role, Resigned):
            return self._poll_resigned(role, now_ms)
        assert isinstance(role, Prospective | Candidate)
        if now_ms >= role.election_deadline_ms:
            if isinstance(role, Candidate) or not role.leader_endpoints:
                quorum.become_prospective(now_ms)
                self._count(now_ms)
            else:
                self._give_up(role, now_ms)
            return now_ms
        self._count(now_ms)
        if quorum.role is not role:
            return now_ms
        return min(role.election_deadline_ms, self._ask(role, now_ms))

    def _poll_unattached(self, role: Unattached, now_ms: int) -> int:
        quorum = self._quorum
        if not quorum.is_voter or quorum.is_stopping:
            return role.election_deadline_ms if quorum.is_stopping else now_ms + quorum.settings.fetch_timeout_ms
        if quorum.voters.is_only(quorum.local.key):
            quorum.become_candidate(now_ms)
            return now_ms
        if now_ms < role.election_deadline_ms:
            return role.election_deadline_ms
        quorum.become_prospective(now_ms)
        return now_ms

    def _poll_resigned(self, role: Resigned, now_ms: int) -> int:
        quorum = self._quorum
        if not quorum.is_stopping and quorum.voters.is_only(quorum.local.key):
            quorum.become_candidate(now_ms)
            return now_ms
        if not quorum.is_stopping and now_ms >= role.election_deadline_ms:
            quorum.become_unattached(quorum.epoch + 1, now_ms)
            return now_ms
        next_ms = role.election_deadline_ms
        leader = CurrentLeader(quorum.epoch, quorum.local.key.id, quorum.local.voter.endpoints)
        request = EndQuorumEpochRequest(leader, role.preferred_successors, quorum.local.cluster_id)
        for peer in quorum.peers():
            if peer.id in role.unacknowledged_ids:
                if quorum.requests.is_ready(peer.id, now_ms):
                    quorum.send(peer, request, now_ms)
                next_ms = min(next_ms, quorum.requests.next_ms(peer.id))
        return next_ms

    def _ask(self, role: Prospective | Candidate, now_ms: int) -> int:
        quorum, next_ms = self._quorum, role.election_deadline_ms
        if isinstance(role, Candidate) and role.is_backing_off:
            return next_ms
        for voter in role.tally.unanswered:
            if voter.key.matches(quorum.local.key):
                continue
            if quorum.requests.is_ready(voter.key.id, now_ms):
                request = VoteRequest(
                    epoch=quorum.epoch,
                    candidate=quorum.local.key,
                    log_end=end_of(quorum.log),
                    pre_vote=isinstance(role, Prospective),
                    voter=voter.key,
                    cluster_id=quorum.local.cluster_id,
                )
                quorum.send(Peer(voter.key.id, voter.endpoints), request, now_ms)
            next_ms = min(next_ms, quorum.requests.next_ms(voter.key.id))
        return next_ms
