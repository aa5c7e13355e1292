"""Who becomes a candidate and a leader, and who votes for whom."""

import pytest
from one_replica import ELECTION_MS, Replica, first_records, key, records, static, vote, voters

from barnabas.raft.core.candidate import Candidate
from barnabas.raft.core.control_records import KRaftVersionRecord, LeaderChangeMessage, VotersRecord
from barnabas.raft.core.election_state import ElectionState
from barnabas.raft.core.follower import Follower
from barnabas.raft.core.log_view import LogPosition
from barnabas.raft.core.messages import (
    BeginQuorumEpochRequest,
    CurrentLeader,
    EndQuorumEpochRequest,
    EpochResponse,
    FetchRequest,
    VoteRequest,
    VoteResponse,
)
from barnabas.raft.core.voters import ReplicaKey
from barnabas.wire.errors import (
    FencedLeaderEpoch,
    InconsistentClusterId,
    InconsistentVoterSet,
    InvalidRequest,
    InvalidVoterKey,
    UnsupportedVersion,
)


def test_the_only_voter_elects_itself_at_once() -> None:
    replica = Replica(voters(1))
    assert replica.role == "Leader"
    assert replica.elections == [ElectionState(1, voted=key(1)), ElectionState(1, leader_id=1)]
    assert [type(each) for each in replica.appended] == [LeaderChangeMessage, KRaftVersionRecord, VotersRecord]
    assert replica.high_watermarks == [3]


def test_its_next_epoch_is_a_new_one_and_names_no_voters_again() -> None:
    replica = Replica(voters(1), election=ElectionState(4, leader_id=1), batches=first_records(voters(1), 4))
    assert replica.elections[-1] == ElectionState(5, leader_id=1)
    assert [type(each) for each in replica.appended] == [LeaderChangeMessage]
    assert replica.high_watermarks == [4]


def test_static_voters_are_not_recorded() -> None:
    replica = Replica(static(1), kraft_version=0)
    assert [type(each) for each in replica.appended] == [LeaderChangeMessage]


def test_its_own_vote_counts_once_it_is_on_disk() -> None:
    replica = Replica(voters(1), persists=False)
    assert isinstance(replica.raft.role, Candidate)
    replica.wait(10)
    assert replica.role == "Candidate"
    replica.persisted()
    assert replica.role == "Leader"
    assert not replica.raft.may_append(replica.now_ms)
    replica.persisted()
    assert replica.raft.may_append(replica.now_ms)


def test_a_pre_vote_comes_first_and_changes_nothing() -> None:
    replica = Replica(voters(1, 2, 3))
    assert replica.role == "Unattached"
    replica.wait(ELECTION_MS)
    assert (replica.role, replica.raft.epoch, replica.elections) == ("Prospective", 0, [])
    assert [send.request.pre_vote for send in replica.sent if isinstance(send.request, VoteRequest)] == [True, True]
    replica.grant(2)
    assert (replica.role, replica.raft.epoch) == ("Candidate", 1)
    replica.grant(3)
    assert (replica.role, replica.raft.leader_id) == ("Leader", 1)


def test_one_that_loses_the_pre_vote_waits_in_its_epoch() -> None:
    replica = Replica(voters(1, 2, 3))
    replica.wait(ELECTION_MS)
    replica.reject(2)
    assert replica.role == "Prospective"
    replica.reject(3)
    assert (replica.role, replica.raft.epoch) == ("Unattached", 0)
    replica.wait(ELECTION_MS)
    assert replica.role == "Prospective"


def test_one_that_knows_no_pre_votes_counts_as_granting() -> None:
    replica = Replica(voters(1, 2, 3))
    replica.wait(ELECTION_MS)
    replica.respond(2, VoteResponse(CurrentLeader(0), error=UnsupportedVersion))
    assert replica.role == "Candidate"


def test_a_candidate_that_loses_backs_off_and_asks_for_pre_votes_again() -> None:
    replica = Replica(voters(1, 2, 3))
    replica.wait(ELECTION_MS)
    replica.grant(2)
    replica.reject(2, 3)
    assert (replica.role, replica.raft.epoch) == ("Candidate", 1)
    replica.wait(1)
    assert replica.role == "Candidate"
    replica.wait(49)
    assert (replica.role, replica.raft.epoch) == ("Prospective", 1)


def test_a_late_answer_to_an_earlier_question_does_not_count() -> None:
    replica = Replica(voters(1, 2, 3))
    replica.wait(ELECTION_MS)
    pre_vote = replica.last_sent(2)
    replica.grant(3)
    assert replica.role == "Candidate"
    replica.do(replica.raft.on_response(pre_vote.request_id, VoteResponse(CurrentLeader(1), True), replica.now_ms))
    assert replica.role == "Candidate"


def test_a_vote_is_given_once_in_an_epoch() -> None:
    replica = Replica(voters(1, 2, 3))
    assert replica.ask(vote(2, 1)) == VoteResponse(CurrentLeader(1), granted=True)
    assert replica.ask(vote(3, 1)) == VoteResponse(CurrentLeader(1), granted=False)
    assert replica.ask(vote(2, 1)) == VoteResponse(CurrentLeader(1), granted=True)
    assert replica.elections[-1] == ElectionState(1, voted=key(2))
    assert replica.ask(vote(3, 2)) == VoteResponse(CurrentLeader(2), granted=True)


def test_a_vote_is_said_once_it_is_on_disk() -> None:
    replica = Replica(voters(1, 2, 3), persists=False)
    assert replica.ask(vote(2, 1)) is None
    assert replica.ask(vote(3, 1)) is None
    replica.persisted()
    assert [answer for answer in replica.answers.values() if isinstance(answer, VoteResponse) and answer.granted]
    assert len(replica.answers) == 2


def test_a_vote_survives_a_restart() -> None:
    replica = Replica(voters(1, 2, 3), election=ElectionState(7, voted=key(2)))
    assert replica.ask(vote(3, 7)) == VoteResponse(CurrentLeader(7), granted=False)
    assert replica.ask(vote(2, 7)) == VoteResponse(CurrentLeader(7), granted=True)


def test_one_that_voted_for_itself_and_restarted_is_no_candidate_in_that_epoch() -> None:
    """What it had in its log when it got the other votes may be lost."""
    replica = Replica(voters(1, 2, 3), election=ElectionState(7, voted=key(1)))
    assert replica.role == "Unattached"
    assert replica.ask(vote(2, 7)) == VoteResponse(CurrentLeader(7), granted=False)


@pytest.mark.parametrize(
    ("log_end", "granted"),
    [((2, 5), True), ((2, 4), False), ((1, 9), False), ((3, 1), True), ((2, 6), True)],
)
def test_votes_go_to_logs_that_are_as_complete(log_end: tuple[int, int], granted: bool) -> None:
    batches = (records(0, 1), records(1, 2), records(2, 2), records(3, 2), records(4, 2))
    for pre_vote in (False, True):
        replica = Replica(voters(1, 2, 3), batches=batches, election=ElectionState(3))
        answer = replica.ask(vote(2, 4, LogPosition(*log_end), pre_vote=pre_vote))
        assert isinstance(answer, VoteResponse)
        assert answer.granted == granted


def test_who_hears_from_its_leader_gives_no_pre_vote() -> None:
    replica = Replica(voters(1, 2, 3)).follow(2)
    assert isinstance(replica.raft.role, Follower)
    granted = replica.ask(vote(3, 5, pre_vote=True))
    assert granted == VoteResponse(replica.raft.quorum.current(), granted=True)  # it has not fetched yet
    replica.fetched()
    assert replica.ask(vote(3, 5, pre_vote=True)) == VoteResponse(replica.raft.quorum.current(), granted=False)
    replica.do(replica.raft.on_leader_unreachable(2, replica.now_ms))
    assert replica.ask(vote(3, 5, pre_vote=True)) == VoteResponse(replica.raft.quorum.current(), granted=True)


def test_a_leader_gives_no_votes_in_its_epoch() -> None:
    replica = Replica(voters(1, 2, 3)).lead()
    for pre_vote in (False, True):
        answer = replica.ask(vote(2, 1, LogPosition(0, 99), pre_vote=pre_vote))
        assert answer == VoteResponse(replica.raft.quorum.current(), granted=False)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (vote(2, 4), FencedLeaderEpoch),
        (vote(2, 5)._replace(cluster_id="another"), InconsistentClusterId),
        (vote(2, 5, LogPosition(5, 1)), InvalidRequest),
        (vote(2, 5, LogPosition(0, -1)), InvalidRequest),
        (vote(1, 5), InvalidRequest),
        (vote(2, 5)._replace(voter=ReplicaKey(1, key(9).directory_id)), InvalidVoterKey),
        (vote(2, 5)._replace(voter=key(2)), InvalidVoterKey),
    ],
)
def test_votes_that_are_refused(request_: VoteRequest, error: type[Exception]) -> None:
    replica = Replica(voters(1, 2, 3), election=ElectionState(5))
    answer = replica.ask(request_)
    assert isinstance(answer, VoteResponse)
    assert (answer.error, answer.granted) == (error, False)
    assert replica.elections == []


def test_a_pre_vote_may_name_the_epoch_of_its_log() -> None:
    answer = Replica(voters(1, 2, 3)).ask(vote(2, 5, LogPosition(5, 1), pre_vote=True))
    assert answer == VoteResponse(CurrentLeader(5), granted=True)


def test_a_new_leader_says_so_and_asks_to_be_fetched_from() -> None:
    replica = Replica(voters(1, 2, 3)).lead()
    begun = [send for send in replica.sent if isinstance(send.request, BeginQuorumEpochRequest)]
    assert {send.to.id for send in begun} == {2, 3}
    assert begun[0].request.voter == key(begun[0].to.id)
    for each in (2, 3):
        replica.respond(each, EpochResponse(replica.raft.quorum.current()))
    replica.fetch(3, 0)
    replica.wait(1000)
    again = [send.to.id for send in replica.sent if isinstance(send.request, BeginQuorumEpochRequest)][2:]
    assert again == [2, 3]
    for each in (2, 3):
        replica.fetch(each, 0)
    replica.wait(1000 - 1)
    assert again == [send.to.id for send in replica.sent if isinstance(send.request, BeginQuorumEpochRequest)][2:]


def test_a_leader_that_two_name_is_not_believed() -> None:
    replica = Replica(voters(1, 2, 3)).follow(2)
    answer = replica.ask(BeginQuorumEpochRequest(CurrentLeader(5, 3)))
    assert isinstance(answer, EpochResponse)
    assert (answer.error, answer.current.leader_id) == (InconsistentVoterSet, 2)


def test_a_higher_epoch_is_always_followed() -> None:
    for replica in (Replica(voters(1, 2, 3)).lead(), Replica(voters(1, 2, 3)).follow(2)):
        replica.ask(vote(3, 9, LogPosition(8, 99)))
        assert (replica.role, replica.raft.epoch) == ("Unattached", 9)
        assert replica.elections[-1] == ElectionState(9, voted=key(3))


def test_a_leader_nobody_fetches_from_resigns() -> None:
    replica = Replica(voters(1, 2, 3)).lead()
    replica.wait(2999)
    replica.fetch(2, 0)
    replica.wait(2999)
    assert replica.raft.may_append(replica.now_ms)
    assert not replica.raft.may_append(replica.now_ms + 1)
    replica.wait(1)
    assert (replica.role, replica.raft.leader_id) == ("Resigned", -1)
    assert {send.to.id for send in replica.sent if isinstance(send.request, EndQuorumEpochRequest)} == {2, 3}
    replica.wait(ELECTION_MS)
    assert (replica.role, replica.raft.epoch) == ("Unattached", 2)


def test_a_fetch_from_before_a_pause_does_not_keep_a_leader() -> None:
    replica = Replica(voters(1, 2, 3)).lead()
    replica.now_ms += 3000
    replica.fetch(2, 0)
    assert replica.role == "Resigned"


def test_a_leader_that_stops_names_the_most_complete_as_successors() -> None:
    replica = Replica(voters(1, 2, 3)).lead()
    replica.fetch(3)
    replica.fetch(2, 0)
    replica.do(replica.raft.stop(replica.now_ms))
    request = replica.last_sent(2).request
    assert isinstance(request, EndQuorumEpochRequest)
    assert request.preferred_successors == (key(3), key(2))
    replica.wait(10 * ELECTION_MS)
    assert replica.role == "Resigned"  # it does not campaign while it stops


def test_one_that_stops_does_not_go_on_campaigning() -> None:
    for votes in ((), (2,)):
        replica = Replica(voters(1, 2, 3))
        replica.wait(ELECTION_MS)
        replica.grant(*votes)
        epoch = replica.raft.epoch
        replica.do(replica.raft.stop(replica.now_ms))
        replica.grant(2, 3)
        replica.wait(10 * ELECTION_MS)
        assert (replica.role, replica.raft.epoch) == ("Unattached", epoch)
        assert replica.elections[-1:] == ([ElectionState(1, voted=key(1))] if votes else [])


@pytest.mark.parametrize(("successors", "delay_ms"), [((1, 2), 0), ((2, 1), 500), ((3, 2, 1), 500), ((2, 3), 1000)])
def test_successors_campaign_one_after_the_other(successors: tuple[int, ...], delay_ms: int) -> None:
    replica = Replica(voters(1, 2, 3)).follow(2)
    replica.fetched()
    replica.ask(EndQuorumEpochRequest(CurrentLeader(5, 2), tuple(map(key, successors))))
    if delay_ms:
        replica.wait(delay_ms - 1)
        assert replica.role == "Follower"
        replica.wait(1)
    assert replica.role == "Prospective"


def test_a_follower_campaigns_after_the_fetch_timeout() -> None:
    replica = Replica(voters(1, 2, 3)).follow(2)
    replica.wait(1999)
    assert replica.role == "Follower"
    replica.wait(1)
    assert (replica.role, replica.raft.epoch) == ("Prospective", 5)
    replica.reject(2, 3)
    assert (replica.role, replica.raft.leader_id) == ("Follower", 2)  # the others hear from it


def test_a_leader_that_refuses_connections_is_replaced_at_once() -> None:
    replica = Replica(voters(1, 2, 3)).follow(2)
    replica.fetched()
    replica.refuse(2)
    replica.do(replica.raft.on_leader_unreachable(2, replica.now_ms))
    replica.wait(49)
    assert replica.role == "Prospective"
    replica.grant(3)
    replica.grant(3)
    assert (replica.role, replica.raft.epoch) == ("Leader", 6)


def test_another_node_that_refuses_connections_means_nothing() -> None:
    replica = Replica(voters(1, 2, 3)).follow(2)
    replica.fetched()
    replica.do(replica.raft.on_leader_unreachable(3, replica.now_ms))
    replica.wait(100)
    assert replica.role == "Follower"


def test_attempts_against_an_unreachable_leader_last_longer_each_time() -> None:
    replica = Replica(voters(1, 2, 3)).follow(2)
    replica.fetched()
    lasted = []
    for _ in range(5):
        replica.do(replica.raft.on_leader_unreachable(2, replica.now_ms))
        replica.wait(50)
        assert replica.role == "Prospective"
        lasted.append(replica.raft.role.election_deadline_ms - replica.now_ms)
        replica.wait(lasted[-1])
        assert replica.role == "Follower"
    assert lasted == [149, 298, 596, 1192, 1999]


def test_a_leader_given_up_too_early_is_followed_again() -> None:
    replica = Replica(voters(1, 2, 3)).follow(2)
    replica.wait(2000)
    assert replica.role == "Prospective"
    replica.follow(2)
    assert replica.role == "Follower"
    assert isinstance(replica.sent[-1].request, FetchRequest)
