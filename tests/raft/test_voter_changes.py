"""Adding, removing and updating voters, and the upgrade from static voters."""

import pytest
from one_replica import CLUSTER_ID, Replica, key, static, voter, voters

from barnabas.raft.core.control_records import KRaftVersionRecord, VotersRecord, voters_of
from barnabas.raft.core.messages import (
    AddVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    ChangeResponse,
    Error,
    RemoveVoterRequest,
    Request,
    Response,
    UpdateVoterRequest,
    UpgradeKRaftVersionRequest,
)
from barnabas.raft.core.voters import ReplicaKey, VersionRange, Voter, VoterEndpoint, VoterSet
from barnabas.wire.errors import (
    DuplicateVoter,
    InconsistentClusterId,
    InvalidRequest,
    InvalidUpdateVersion,
    NotLeaderOrFollower,
    RequestTimedOut,
    UnsupportedVersion,
    VoterNotFound,
)

ADD = AddVoterRequest(voter(4))


def leader() -> Replica:
    return Replica(voters(1, 2, 3)).lead().commit_all()


def error_of(answer: Response | None) -> Error:
    assert isinstance(answer, ChangeResponse)
    return answer.error


def recorded(replica: Replica) -> VoterSet:
    record = replica.appended[-1]
    assert isinstance(record, VotersRecord)
    return voters_of(record)


def supports(replica: Replica, low: int = 0, high: int = 1) -> None:
    replica.respond(4, ApiVersionsResponse(VersionRange(low, high)))


def test_a_voter_that_has_caught_up_is_added_and_the_answer_waits_for_the_commit() -> None:
    replica = leader()
    replica.fetch(4)
    assert replica.ask(ADD) is None
    assert replica.sent[-1].to.id == 4
    assert isinstance(replica.sent[-1].request, ApiVersionsRequest)
    supports(replica)
    assert recorded(replica) == voters(1, 2, 3, 4)
    assert replica.raft.voters == voters(1, 2, 3, 4)
    replica.fetch(2)
    assert not any(isinstance(answer, ChangeResponse) for answer in replica.answers.values())
    replica.fetch(4)  # three of four have it
    assert [error_of(each) for each in replica.answers.values() if isinstance(each, ChangeResponse)] == [None]


def test_the_answer_comes_at_once_if_it_need_not_be_committed() -> None:
    replica = leader()
    replica.fetch(4)
    assert replica.ask(ADD._replace(ack_when_committed=False)) is None
    supports(replica)
    assert isinstance(list(replica.answers.values())[-1], ChangeResponse)
    count = len(replica.answers)
    replica.wait(2000)
    assert len([each for each in replica.answers.values() if isinstance(each, ChangeResponse)]) == 1
    assert len(replica.answers) == count


@pytest.mark.parametrize("wait_ms", [None, 10_001])
def test_one_that_lags_is_not_added(wait_ms: int | None) -> None:
    replica = leader()
    if wait_ms is None:
        replica.fetch(4, 0)
    else:
        replica.fetch(4)
        for _ in range(5):
            replica.now_ms += wait_ms // 5 + 1
            replica.commit_all()
    assert replica.ask(ADD) is None
    supports(replica)
    assert [error_of(each) for each in replica.answers.values() if isinstance(each, ChangeResponse)] == [
        RequestTimedOut
    ]
    assert replica.raft.voters == voters(1, 2, 3)


def test_one_that_follows_a_busy_leader_has_caught_up() -> None:
    replica = leader()
    replica.fetch(4, 0)
    end_offset = replica.log.end_offset
    replica.append()
    replica.fetch(4, end_offset)  # all that the log had when it fetched before
    replica.ask(ADD)
    supports(replica)
    assert replica.raft.voters == voters(1, 2, 3, 4)


def test_one_of_another_version_or_that_does_not_answer_is_not_added() -> None:
    for answer, error in ((VersionRange(0, 0), InvalidRequest), (None, InvalidRequest)):
        replica = leader()
        replica.fetch(4)
        replica.ask(ADD)
        replica.respond(4, ApiVersionsResponse(answer))
        assert error_of(list(replica.answers.values())[-1]) == error
    replica = leader()
    replica.ask(ADD)
    replica.refuse(4)
    assert error_of(list(replica.answers.values())[-1]) == RequestTimedOut


def test_a_change_that_is_not_committed_in_time() -> None:
    replica = leader()
    replica.ask(RemoveVoterRequest(key(3)))
    replica.wait(1999)
    count = len(replica.answers)
    replica.wait(1)
    assert len(replica.answers) == count + 1
    assert error_of(list(replica.answers.values())[-1]) == RequestTimedOut


def test_one_change_at_a_time() -> None:
    replica = leader()
    assert replica.ask(RemoveVoterRequest(key(3))) is None
    assert replica.raft.voters == voters(1, 2)
    assert error_of(replica.ask(RemoveVoterRequest(key(2)))) == RequestTimedOut
    replica.wait(2000)  # nobody waits for it any more, but it is in the log
    assert error_of(replica.ask(RemoveVoterRequest(key(2)))) == RequestTimedOut
    replica.fetch(2)
    assert error_of(replica.ask(RemoveVoterRequest(key(2)))) is None  # its own disk is the majority then
    assert replica.raft.voters == voters(1)


def test_a_new_leader_commits_before_it_changes_anything() -> None:
    replica = Replica(voters(1, 2, 3)).lead()
    assert error_of(replica.ask(RemoveVoterRequest(key(3)))) == RequestTimedOut
    replica.fetch(2)
    assert replica.ask(RemoveVoterRequest(key(3))) is None


def test_a_leader_that_is_removed_leads_until_that_is_committed() -> None:
    replica = leader()
    replica.ask(RemoveVoterRequest(key(1)))
    assert replica.raft.voters == voters(2, 3)
    before = replica.high_watermarks[-1]
    replica.fetch(2)
    assert (replica.role, replica.high_watermarks[-1]) == ("Leader", before)  # its own log does not count
    replica.fetch(3)
    assert replica.high_watermarks[-1] == replica.log.end_offset
    assert replica.role == "Resigned"
    replica.wait(2000)
    assert (replica.role, replica.raft.quorum.is_voter) == ("Unattached", False)


def test_an_update_names_new_endpoints() -> None:
    moved = voter(2)._replace(endpoints=(VoterEndpoint("CONTROLLER", "elsewhere", 1),))
    replica = leader()
    assert error_of(replica.ask(UpdateVoterRequest(replica.raft.epoch, moved))) is None
    assert recorded(replica).find(2) == moved


def other_disk(of: int) -> ReplicaKey:
    return key(of)._replace(directory_id=key(99).directory_id)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (AddVoterRequest(voter(3)), DuplicateVoter),
        (AddVoterRequest(voter(3)._replace(key=other_disk(3))), DuplicateVoter),
        (AddVoterRequest(Voter(ReplicaKey(4), voter(4).endpoints)), InvalidRequest),
        (AddVoterRequest(Voter(key(4), ())), InvalidRequest),
        (AddVoterRequest(voter(4), cluster_id="another"), InconsistentClusterId),
        (RemoveVoterRequest(key(4)), VoterNotFound),
        (RemoveVoterRequest(other_disk(3)), VoterNotFound),
        (RemoveVoterRequest(ReplicaKey(3)), InvalidRequest),
        (UpdateVoterRequest(1, voter(4)), VoterNotFound),
        (UpdateVoterRequest(1, voter(3)._replace(kraft_versions=VersionRange(0, 0))), InvalidRequest),
        (UpgradeKRaftVersionRequest(1), None),
        (UpgradeKRaftVersionRequest(0), InvalidUpdateVersion),
        (UpgradeKRaftVersionRequest(2), InvalidUpdateVersion),
    ],
)
def test_changes_that_are_refused(request_: Request, error: Error) -> None:
    replica = leader()
    assert error_of(replica.ask(request_)) == error
    assert replica.raft.voters == voters(1, 2, 3)


def test_the_last_voter_stays() -> None:
    replica = Replica(voters(1))
    assert error_of(replica.ask(RemoveVoterRequest(key(1)))) == VoterNotFound


@pytest.mark.parametrize("request_", [ADD, RemoveVoterRequest(key(2), CLUSTER_ID), UpdateVoterRequest(5, voter(3))])
def test_only_the_leader_changes_voters(request_: Request) -> None:
    replica = Replica(voters(1, 2, 3)).follow(2)
    assert error_of(replica.ask(request_)) == NotLeaderOrFollower


def test_a_change_that_a_leader_cannot_finish_is_answered_so() -> None:
    replica = leader()
    assert replica.ask(RemoveVoterRequest(key(3))) is None
    replica.follow(2, 9)
    answers = [each for each in replica.answers.values() if isinstance(each, ChangeResponse)]
    assert [error_of(each) for each in answers] == [NotLeaderOrFollower]


def static_leader() -> Replica:
    return Replica(static(1, 2, 3), kraft_version=0).lead().commit_all()


def test_static_voters_do_not_change() -> None:
    assert error_of(static_leader().ask(ADD)) == UnsupportedVersion


def test_static_voters_become_recorded_ones_when_all_have_said_who_they_are() -> None:
    replica = static_leader()
    assert error_of(replica.ask(UpgradeKRaftVersionRequest(1))) == InvalidUpdateVersion
    for each in (2, 3):
        assert error_of(replica.ask(UpdateVoterRequest(replica.raft.epoch, voter(each)))) is None
    assert replica.raft.voters == static(1, 2, 3)
    assert replica.ask(UpgradeKRaftVersionRequest(1)) is None
    assert [type(each) for each in replica.appended[-2:]] == [KRaftVersionRecord, VotersRecord]
    assert replica.raft.voters == voters(1, 2, 3)
    assert replica.raft.history.kraft_version == 1
    replica.fetch(2)
    assert [error_of(each) for each in replica.answers.values() if isinstance(each, ChangeResponse)][-1] is None


def test_a_voter_that_cannot_stays_static() -> None:
    replica = static_leader()
    old = voter(2)._replace(kraft_versions=VersionRange(0, 0))
    for each in (old, voter(3)):
        replica.ask(UpdateVoterRequest(replica.raft.epoch, each))
    assert error_of(replica.ask(UpgradeKRaftVersionRequest(1))) == InvalidUpdateVersion
