"""The core alone: elections, epochs and what counts as committed."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from barnabas.raft.core.candidate import Candidate
from barnabas.raft.core.control_records import KRaftVersionRecord, LeaderChangeMessage, VotersRecord
from barnabas.raft.core.election_state import ElectionState, decode_election_state, encode_election_state
from barnabas.raft.core.leader import Leader
from barnabas.raft.core.raft import Raft, Ready
from barnabas.raft.core.resigned import Resigned
from barnabas.raft.core.unattached import Unattached
from barnabas.raft.core.voters import ReplicaKey, Voter, VoterSet

LOCAL = ReplicaKey(1, uuid.UUID(int=5))


def voters(count: int) -> VoterSet:
    return VoterSet(tuple(Voter(ReplicaKey(number, LOCAL.directory_id), ()) for number in range(1, count + 1)))


def raft(election: ElectionState | None = None, *, end: int = 0, epoch: int = 0, count: int = 1) -> Raft:
    return Raft(local=LOCAL, voters=voters(count), election=election, log_end_offset=end, log_epoch=epoch)


def test_the_first_leader_of_all_writes_who_votes() -> None:
    core = raft()
    assert core.campaign() == Ready(election=ElectionState(1, voted=LOCAL))
    ready = core.on_election_persisted()
    assert ready.election == ElectionState(1, leader_id=1)
    assert [type(message) for message in ready.append] == [LeaderChangeMessage, KRaftVersionRecord, VotersRecord]
    assert core.leader_id == 1
    assert core.high_watermark is None
    assert core.on_synced(3) == Ready(high_watermark=3)
    assert core.on_synced(3) == Ready()
    assert core.high_watermark == 3


def test_later_leaders_write_only_that_they_lead() -> None:
    core = raft(ElectionState(4, leader_id=1), end=10, epoch=4)
    assert core.role == Resigned(4)
    core.campaign()
    assert [type(message) for message in core.on_election_persisted().append] == [LeaderChangeMessage]
    assert core.on_synced(10) == Ready()  # the log of earlier epochs is not committed by itself
    assert core.on_synced(11) == Ready(high_watermark=11)


def test_no_vote_counts_before_it_is_on_disk() -> None:
    core = raft()
    core.campaign()
    assert isinstance(core.role, Candidate)
    assert core.leader_id == -1
    assert core.on_synced(5) == Ready()


def test_one_of_three_is_no_majority() -> None:
    core = raft(count=3)
    core.campaign()
    assert core.on_election_persisted() == Ready()
    assert core.leader_id == -1


@given(st.integers(0, 100), st.integers(0, 100), st.booleans())
def test_an_epoch_is_never_used_twice(stored: int, logged: int, led: bool) -> None:
    election = ElectionState(stored, leader_id=1) if led else ElectionState(stored, voted=LOCAL)
    core = raft(election, end=5, epoch=logged)
    assert isinstance(core.role, Resigned | Unattached)
    core.campaign()
    assert core.epoch == max(stored, logged) + 1


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 50))))
def test_what_is_committed_is_on_a_majority(reports: list[tuple[int, int]]) -> None:
    leader = Leader(epoch=2, voters=voters(5), epoch_start_offset=10)
    ends: dict[int, int] = {}
    for voter_id, end_offset in reports:
        ends[voter_id] = max(end_offset, ends.get(voter_id, 0))
        before = leader.high_watermark
        advanced = leader.on_synced(voter_id, ends[voter_id])
        if advanced is not None:
            assert advanced > max(before or 0, 10)
            assert sum(end >= advanced for end in ends.values()) >= 3
        assert leader.high_watermark == (before if advanced is None else advanced)


@given(
    st.integers(0, 2**31 - 1),
    st.integers(-1, 2**31 - 1),
    st.none() | st.builds(ReplicaKey, st.integers(0, 2**31 - 1), st.uuids()),
)
def test_the_election_state_survives(epoch: int, leader_id: int, voted: ReplicaKey | None) -> None:
    state = ElectionState(epoch, leader_id, voted)
    assert decode_election_state(encode_election_state(state)) == state


def test_kafkas_quorum_state_is_read_and_written() -> None:
    version_1 = (
        b'{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    )
    assert decode_election_state(version_1) == ElectionState(1, leader_id=1)
    assert encode_election_state(ElectionState(1, leader_id=1)) == version_1
    version_0 = (
        b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1}],"data_version":0}'
    )
    assert decode_election_state(version_0) == ElectionState(2, leader_id=1)
