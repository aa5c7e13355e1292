"""The file `quorum-state`, as Kafka writes it."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.raft.core.election_state import ElectionState, decode_election_state, encode_election_state
from barnabas.raft.core.voters import ReplicaKey

IDS = st.integers(0, 2**31 - 1)


@given(IDS, st.integers(-1, 2**31 - 1), st.none() | st.builds(ReplicaKey, IDS, st.uuids()))
def test_it_survives(epoch: int, leader_id: int, voted: ReplicaKey | None) -> None:
    state = ElectionState(epoch, leader_id, voted)
    assert decode_election_state(encode_election_state(state)) == state


@given(IDS, st.integers(-1, 2**31 - 1), st.none() | IDS.map(ReplicaKey), st.lists(IDS))
def test_it_survives_without_directories(
    epoch: int, leader_id: int, voted: ReplicaKey | None, voter_ids: list[int]
) -> None:
    state = ElectionState(epoch, leader_id, voted)
    assert decode_election_state(encode_election_state(state, tuple(voter_ids))) == state


def test_kafkas_file_is_read_and_written() -> None:
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
    assert encode_election_state(ElectionState(2, leader_id=1), (1,)) == version_0
