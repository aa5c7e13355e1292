"""What a follower and an observer do with what their leader sends."""

import pytest
from one_replica import Replica, first_records, key, new_voters, records, static, voter, voters

from barnabas.raft.core.follower import Follower
from barnabas.raft.core.log_view import LogPosition
from barnabas.raft.core.messages import (
    ChangeResponse,
    CurrentLeader,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    UpdateVoterRequest,
)
from barnabas.raft.core.ready import Peer
from barnabas.raft.core.snapshot_file import SnapshotId
from barnabas.raft.core.voters import VoterEndpoint, VoterSet
from barnabas.wire.errors import KafkaStorageError, NotLeaderOrFollower, SnapshotNotFound

SNAPSHOT = SnapshotId(40, 4)


def last_fetch(replica: Replica) -> FetchRequest:
    request = replica.sent[-1].request
    assert isinstance(request, FetchRequest)
    return request


def test_it_fetches_from_the_end_of_its_disk() -> None:
    replica = Replica(voters(1, 2, 3), batches=first_records(voters(1, 2, 3)), syncs=False).follow(2)
    assert replica.sent == []  # what was found at the start may not be synced
    replica.sync()
    assert last_fetch(replica).position == LogPosition(1, 3)
    replica.fetched(records(3, 2), records(4, 5), high_watermark=4)
    fetches = len(replica.sent)
    replica.wait(100)
    assert len(replica.sent) == fetches
    replica.do(replica.raft.on_synced(4, replica.now_ms))
    assert len(replica.sent) == fetches
    replica.sync()
    assert last_fetch(replica).position == LogPosition(5, 5)
    assert replica.high_watermarks == [4]


def test_a_high_watermark_is_never_beyond_its_log_and_never_goes_back() -> None:
    replica = Replica(voters(1, 2, 3)).follow(2)
    replica.fetched(records(0, 1), high_watermark=9)
    replica.fetched(high_watermark=0)
    assert replica.high_watermarks == [1]


@pytest.mark.parametrize("wrong", [records(2, 5), records(1, 6), records(1, 0)])
def test_what_does_not_follow_its_log_is_not_appended(wrong: object) -> None:
    replica = Replica(voters(1, 2, 3), batches=(records(0, 1),)).follow(2)
    replica.fetched(wrong)
    assert replica.log.end_offset == 1
    replica.wait(20)
    assert last_fetch(replica).position == LogPosition(1, 1)


def test_an_answer_of_another_epoch_is_not_appended() -> None:
    replica = Replica(voters(1, 2, 3)).follow(2)
    replica.respond(2, FetchResponse(CurrentLeader(4, 2), batches=(records(0, 1),)))
    assert replica.log.end_offset == 0
    replica.wait(20)
    replica.respond(2, FetchResponse(CurrentLeader(6, 3), batches=(records(0, 1),)))
    assert (replica.log.end_offset, replica.raft.epoch, replica.raft.leader_id) == (0, 6, 3)


@pytest.mark.parametrize(
    ("diverging", "end_offset"),
    [((1, 2), 2), ((1, 9), 3), ((2, 4), 3), ((3, 5), 5), ((3, 9), 6), ((0, 0), 0)],
)
def test_it_truncates_to_where_its_epochs_agree(diverging: tuple[int, int], end_offset: int) -> None:
    batches = (*(records(offset, 1) for offset in range(3)), *(records(offset, 3) for offset in range(3, 6)))
    replica = Replica(voters(1, 2, 3), batches=batches).follow(2)
    replica.respond(2, FetchResponse(replica.current(2), diverging=LogPosition(*diverging)))
    assert replica.log.end_offset == end_offset
    assert last_fetch(replica).position.end_offset == end_offset


def test_it_never_truncates_what_was_committed() -> None:
    replica = Replica(voters(1, 2, 3)).follow(2)
    replica.fetched(records(0, 1), records(1, 1), high_watermark=2)
    with pytest.raises(KafkaStorageError, match="lost its data"):
        replica.respond(2, FetchResponse(replica.current(2), diverging=LogPosition(1, 1)))


def test_truncated_voters_do_not_count() -> None:
    replica = Replica(voters(1, 2, 3), batches=first_records(voters(1, 2, 3))).follow(2)
    replica.fetched(new_voters(3, 5, voters(2, 3)))
    assert replica.role == "Observer"
    replica.follow(3, 6)
    replica.respond(3, FetchResponse(replica.current(3), diverging=LogPosition(1, 3)))
    assert (replica.role, replica.raft.voters) == ("Follower", voters(1, 2, 3))


def test_recorded_voters_count_at_once() -> None:
    replica = Replica(VoterSet(()), batches=()).follow_by_name(2)
    assert replica.role == "Observer"
    replica.fetched(*first_records(voters(2, 3)), new_voters(3, 5, voters(1, 2, 3)))
    assert (replica.role, replica.raft.high_watermark or 0) == ("Follower", 0)


def snapshot_wanted() -> Replica:
    replica = Replica(voters(1, 2, 3), batches=(records(0, 1),)).follow(2)
    replica.respond(2, FetchResponse(replica.current(2), snapshot_id=SNAPSHOT))
    return replica


def chunk(replica: Replica, position: int, data: bytes, size: int = 6) -> None:
    answer = FetchSnapshotResponse(replica.current(2), None, SNAPSHOT, size, position, data)
    replica.respond(2, answer)


def test_a_snapshot_is_fetched_by_position_and_applied_when_it_is_verified() -> None:
    replica = snapshot_wanted()
    chunk(replica, 0, b"abc")
    request = replica.sent[-1].request
    assert isinstance(request, FetchSnapshotRequest)
    assert (request.position, request.snapshot_id) == (3, SNAPSHOT)
    chunk(replica, 3, b"def")
    assert [ready.verify for ready in replica.readies if ready.verify] == [SNAPSHOT]
    assert (replica.log.end_offset, replica.high_watermarks) == (1, [])
    requests = len(replica.sent)
    replica.wait(100)
    assert len(replica.sent) == requests
    replica.do(replica.raft.on_snapshot_verified(SNAPSHOT, voters(1, 2), 1, replica.now_ms))
    assert (replica.log.end_offset, replica.high_watermarks) == (40, [40])
    assert replica.raft.voters == voters(1, 2)
    assert last_fetch(replica).position == LogPosition(4, 40)


def test_a_chunk_that_does_not_fit_is_asked_for_again() -> None:
    replica = snapshot_wanted()
    chunk(replica, 3, b"def")
    replica.wait(20)
    assert replica.sent[-1].request.position == 0
    assert all(ready.chunk is None for ready in replica.readies)


def test_a_damaged_snapshot_is_fetched_again() -> None:
    replica = snapshot_wanted()
    chunk(replica, 0, b"abcdef")
    replica.do(replica.raft.on_snapshot_damaged(SNAPSHOT, replica.now_ms))
    replica.wait(20)
    assert last_fetch(replica).position == LogPosition(1, 1)


def test_a_snapshot_that_the_leader_has_deleted_is_given_up() -> None:
    replica = snapshot_wanted()
    replica.respond(2, FetchSnapshotResponse(replica.current(2), SnapshotNotFound))
    assert last_fetch(replica).position == LogPosition(1, 1)


def test_a_snapshot_of_a_former_leader_does_not_replace_the_log() -> None:
    replica = snapshot_wanted()
    chunk(replica, 0, b"abcdef")
    replica.follow(3, 6)
    replica.do(replica.raft.on_snapshot_verified(SNAPSHOT, voters(1, 2), 1, replica.now_ms))
    assert (replica.log.end_offset, replica.raft.voters) == (1, voters(1, 2, 3))


def test_a_voter_that_has_moved_says_so() -> None:
    moved = voter(1)._replace(endpoints=(VoterEndpoint("CONTROLLER", "elsewhere", 1),))
    voter_set = voters(2, 3).with_voter(moved)
    replica = Replica(voter_set).follow(2)
    for _ in range(4):
        replica.fetched()
        replica.wait(1500)
    replica.fetched()
    request = replica.sent[-1].request
    assert isinstance(request, UpdateVoterRequest)
    assert request.voter == voter(1)
    replica.respond(2, ChangeResponse(replica.current(2)))
    assert isinstance(replica.sent[-1].request, FetchRequest)


def test_a_static_voter_tells_each_leader_once_who_it_is() -> None:
    replica = Replica(static(1, 2, 3), kraft_version=0).follow(2)
    for _ in range(12):
        if isinstance(replica.sent[-1].request, UpdateVoterRequest):
            replica.respond(2, ChangeResponse(replica.current(2)))
        replica.fetched()
        replica.wait(1500)
    updates = [send for send in replica.sent if isinstance(send.request, UpdateVoterRequest)]
    assert len(updates) == 1


def bootstrap_peers() -> tuple[Peer, ...]:
    return (Peer(-2, voter(2).endpoints), Peer(-3, voter(3).endpoints))


def test_an_observer_asks_around_for_the_leader_and_never_campaigns() -> None:
    replica = Replica(VoterSet(()), bootstrap=bootstrap_peers())
    first = replica.sent[-1]
    assert isinstance(first.request, FetchRequest)
    replica.do(replica.raft.on_no_response(first.request_id, replica.now_ms))
    replica.wait(20)
    second = replica.sent[-1]
    assert {first.to.id, second.to.id} == {-2, -3}
    leader = CurrentLeader(4, 2, voter(2).endpoints)
    replica.do(replica.raft.on_response(second.request_id, FetchResponse(leader, NotLeaderOrFollower), replica.now_ms))
    assert (replica.role, replica.raft.epoch, replica.raft.leader_id) == ("Observer", 4, 2)
    assert replica.sent[-1].to == Peer(2, voter(2).endpoints)
    replica.fetched(*first_records(voters(2, 3)))
    for _ in range(10):
        replica.wait(2000)
    assert (replica.role, replica.raft.epoch) == ("Observer", 4)
    assert replica.sent[-1].to.id in (-2, -3)  # its leader does not answer


def test_a_directory_that_no_record_names_only_observes() -> None:
    """The disk of voter 1 was replaced."""
    before = voters(2, 3).with_voter(voter(1)._replace(key=key(1)._replace(directory_id=key(9).directory_id)))
    replica = Replica(before).follow(2)
    assert replica.role == "Observer"
    assert isinstance(replica.raft.role, Follower)
    replica.wait(100_000)
    assert replica.raft.epoch == 5
