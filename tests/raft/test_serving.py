"""What a leader answers to Fetch and FetchSnapshot, and what it commits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_replica import Replica, key, records, voters
from raft_model.disk import LogImage, Snapshot

from barnabas.raft.core.election_state import ElectionState
from barnabas.raft.core.leader import Leader
from barnabas.raft.core.log_view import LogPosition
from barnabas.raft.core.messages import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from barnabas.raft.core.snapshot_file import BOOTSTRAP, SnapshotId
from barnabas.raft.core.voters import ReplicaKey
from barnabas.wire.errors import (
    FencedLeaderEpoch,
    InconsistentClusterId,
    InvalidRequest,
    NotLeaderOrFollower,
    PositionOutOfRange,
    SnapshotNotFound,
    UnknownLeaderEpoch,
)

SNAPSHOT = SnapshotId(3, 1)


def leader() -> Replica:
    """Of epoch 3; its log is 0-2 of epoch 1, 3-4 of epoch 2, then 5 with the change of the leader."""
    batches = (*(records(offset, 1) for offset in range(3)), records(3, 2), records(4, 2))
    return Replica(voters(1, 2, 3), batches=batches, election=ElectionState(2)).lead()


def test_a_follower_gets_what_it_has_not_and_the_rest_is_committed() -> None:
    replica = leader()
    end_offset = replica.log.end_offset
    answer = replica.fetch(2, 4)
    assert answer is not None
    assert (answer.read_offset, answer.high_watermark, answer.error) == (4, None, None)
    assert replica.high_watermarks == []
    answer = replica.fetch(2)
    assert answer is not None
    assert (answer.read_offset, answer.high_watermark) == (None, end_offset)
    assert replica.high_watermarks == [end_offset]


def test_records_of_old_epochs_alone_are_not_committed() -> None:
    replica = leader()
    replica.fetch(2, 5)
    replica.fetch(3, 5)
    assert replica.high_watermarks == []


def test_what_the_leader_has_not_synced_is_not_committed_by_one_follower() -> None:
    replica = leader()
    replica.fetch(2)
    replica.syncs = False
    replica.append()
    end_offset = replica.log.end_offset
    replica.fetch(2)
    assert replica.high_watermarks == [end_offset - 1]
    replica.sync()
    assert replica.high_watermarks == [end_offset - 1, end_offset]
    replica.append()
    replica.fetch(2)
    replica.fetch(3)
    assert replica.high_watermarks[-1] == end_offset + 1  # two of three have it, whatever the leader's disk does


def test_observers_and_other_directories_commit_nothing() -> None:
    replica = leader()
    end = LogPosition(3, replica.log.end_offset)
    other_disk = key(2)._replace(directory_id=key(8).directory_id)
    for replica_key in (key(4), other_disk, ReplicaKey(-1)):
        assert replica.ask(FetchRequest(replica_key, 3, end)) is not None
    assert replica.high_watermarks == []


@pytest.mark.parametrize(
    ("epoch", "offset", "diverging"),
    [(1, 3, None), (1, 4, (1, 3)), (2, 5, None), (2, 6, (2, 5)), (0, 0, None), (0, 1, (0, 0)), (3, 99, (3, 8))],
)
def test_a_log_that_is_not_the_beginning_of_ours_diverges(
    epoch: int, offset: int, diverging: tuple[int, int] | None
) -> None:
    replica = leader()
    assert replica.log.end_offset == 8
    answer = replica.fetch(2, offset, epoch=epoch)
    assert answer is not None
    assert answer.diverging == (None if diverging is None else LogPosition(*diverging))
    assert (answer.read_offset is None) == (diverging is not None)


def with_snapshot() -> Replica:
    replica = leader()
    replica.snapshots[SNAPSHOT] = Snapshot(b"abcdef", voters(1, 2, 3), 1)
    replica.log.image = LogImage(3, 1, replica.log.image.batches[3:])
    return replica


@pytest.mark.parametrize(
    ("epoch", "offset", "gets_snapshot"),
    [(0, 0, True), (1, 2, True), (1, 3, False), (0, 3, True), (2, 4, False), (0, 9, True)],
)
def test_who_lags_behind_the_log_gets_the_snapshot(epoch: int, offset: int, gets_snapshot: bool) -> None:
    answer = with_snapshot().fetch(2, offset, epoch=epoch)
    assert answer is not None
    assert answer.snapshot_id == (SNAPSHOT if gets_snapshot else None)


def test_an_empty_log_gets_the_snapshot_even_where_the_log_reaches_back() -> None:
    replica = leader()
    replica.snapshots[SNAPSHOT] = Snapshot(b"abcdef", voters(1, 2, 3), 1)
    answer = replica.fetch(2, 0)
    assert answer is not None
    assert answer.snapshot_id == SNAPSHOT


def test_a_fetch_waits_for_records_or_for_the_high_watermark() -> None:
    replica = leader()
    assert replica.fetch(2, max_wait_ms=500) is not None  # the high watermark has advanced by it
    known = replica.high_watermarks[-1]
    request = FetchRequest(key(2), 3, LogPosition(3, known), high_watermark=known, max_wait_ms=500)
    assert replica.ask(request) is None
    assert replica.ask(request._replace(replica=key(3))) is None
    replica.append()
    waited = [answer for answer in replica.answers.values() if isinstance(answer, FetchResponse)][-2:]
    assert [answer.read_offset for answer in waited] == [known, known]
    end = LogPosition(3, replica.log.end_offset)
    assert replica.ask(request._replace(position=end, high_watermark=known)) is not None
    count = len(replica.answers)
    assert replica.ask(request._replace(position=end, high_watermark=end.end_offset)) is None
    replica.wait(499)
    assert len(replica.answers) == count
    replica.wait(1)
    assert len(replica.answers) == count + 1


def test_who_waits_hears_when_the_leader_does_not_lead_any_more() -> None:
    replica = leader().commit_all()
    known = replica.high_watermarks[-1]
    request = FetchRequest(key(2), 3, LogPosition(3, known), high_watermark=known, max_wait_ms=500)
    assert replica.ask(request) is None
    replica.follow(3, 9)
    answer = list(replica.answers.values())[-2:]
    assert FetchResponse(replica.raft.quorum.current(), NotLeaderOrFollower) in answer


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (FetchRequest(key(2), 2, LogPosition(0, 0)), FencedLeaderEpoch),
        (FetchRequest(key(2), 4, LogPosition(0, 0)), UnknownLeaderEpoch),
        (FetchRequest(key(2), 3, LogPosition(0, 0), cluster_id="another"), InconsistentClusterId),
        (FetchRequest(key(2), 3, LogPosition(4, 0)), InvalidRequest),
        (FetchRequest(key(2), 3, LogPosition(0, -1)), InvalidRequest),
        (FetchRequest(key(1), 3, LogPosition(0, 0)), InvalidRequest),
    ],
)
def test_fetches_that_are_refused(request_: FetchRequest, error: type[Exception]) -> None:
    replica = leader()
    assert replica.ask(request_) == FetchResponse(replica.raft.quorum.current(), error)


def test_a_follower_refuses_and_names_the_leader() -> None:
    replica = Replica(voters(1, 2, 3)).follow(2)
    answer = replica.ask(FetchRequest(key(3), 5, LogPosition(0, 0)))
    assert isinstance(answer, FetchResponse)
    assert (answer.error, answer.current.leader_id, answer.current.epoch) == (NotLeaderOrFollower, 2, 5)
    assert answer.current.endpoints[0].host == "node-2"


@pytest.mark.parametrize(
    ("snapshot_id", "position", "epoch", "error"),
    [
        (SNAPSHOT, 4, 3, None),
        (SNAPSHOT, 6, 3, PositionOutOfRange),
        (SNAPSHOT, -1, 3, PositionOutOfRange),
        (SnapshotId(3, 2), 0, 3, SnapshotNotFound),
        (BOOTSTRAP, 0, 3, SnapshotNotFound),
        (SNAPSHOT, 0, 2, FencedLeaderEpoch),
        (SNAPSHOT, 0, 4, UnknownLeaderEpoch),
    ],
)
def test_snapshots_are_served_by_position(
    snapshot_id: SnapshotId, position: int, epoch: int, error: type[Exception] | None
) -> None:
    answer = with_snapshot().ask(FetchSnapshotRequest(key(2), epoch, snapshot_id, position))
    assert isinstance(answer, FetchSnapshotResponse)
    assert answer.error == error
    if error is None:
        assert (answer.size, answer.position) == (6, position)


def test_fetching_a_snapshot_keeps_the_leader() -> None:
    replica = with_snapshot()
    for _ in range(3):
        replica.wait(2000)
        replica.ask(FetchSnapshotRequest(key(2), 3, SNAPSHOT, 0))
    assert replica.role == "Leader"


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 50))))
def test_what_is_committed_is_on_a_majority(reports: list[tuple[int, int]]) -> None:
    voter_set = voters(1, 2, 3, 4, 5)
    leading = Leader(key(1), epoch_start_offset=10, since_ms=0, granting_ids=frozenset())
    ends = dict.fromkeys(range(1, 6), -1)
    for node_id, end_offset in reports:
        ends[node_id] = max(end_offset, ends[node_id])
        if node_id != 1:
            leading.replica(key(node_id)).on_fetch(ends[node_id], 50, 1)
        before = leading.high_watermark
        advanced = leading.advance(voter_set, ends[1])
        if advanced is not None:
            assert advanced > max(before or 0, 10)
            assert sum(end >= advanced for end in ends.values()) >= 3
        assert leading.high_watermark == (before if advanced is None else advanced)
