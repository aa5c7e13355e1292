"""The leader's side of replication: it answers Fetch and FetchSnapshot, and commits what a majority has on disk."""

from barnabas.raft.core.errors import not_its_leader, wrong_cluster
from barnabas.raft.core.leader import Leader, ParkedFetch
from barnabas.raft.core.log_view import LogPosition
from barnabas.raft.core.messages import (
    BeginQuorumEpochRequest,
    Error,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from barnabas.raft.core.quorum import Quorum
from barnabas.raft.core.ready import Peer
from barnabas.raft.core.settings import OBSERVER_SESSION_MS
from barnabas.raft.core.snapshot_file import BOOTSTRAP, SnapshotId
from barnabas.raft.core.voter_changes import VoterChanges
from barnabas.raft.core.voters import ReplicaKey
from barnabas.wire.errors import InvalidRequest, PositionOutOfRange, SnapshotNotFound


class Serving:
    def __init__(self, quorum: Quorum, changes: VoterChanges) -> None:
        self._quorum = quorum
        self._changes = changes

    def on_fetch(self, request_id: object, request: FetchRequest, now_ms: int) -> None:
        quorum, leader = self._quorum, self._quorum.role
        error = self._fetch_error(request)
        if error is not None:
            quorum.answer(request_id, FetchResponse(quorum.current(), error))
            return
        assert isinstance(leader, Leader)
        if not leader.is_established:
            self._park(leader, request_id, request, now_ms)
            return
        answer = self._position_answer(request.position)
        if answer is None:
            self._on_replica(leader, request.replica, request.position.end_offset, now_ms)
            answer = self._data_answer(leader, request)
        if answer is None and request.max_wait_ms > 0:
            self._park(leader, request_id, request, now_ms)
        else:
            quorum.answer(request_id, answer or self._fetched(leader))

    def _fetch_error(self, request: FetchRequest) -> Error:
        position = request.position
        if error := wrong_cluster(self._quorum, request.cluster_id):
            return error
        if min(position.end_offset, position.epoch, request.max_wait_ms) < 0 or position.epoch > request.epoch:
            return InvalidRequest
        if error := not_its_leader(self._quorum, request.epoch):
            return error
        return InvalidRequest if request.replica.id == self._quorum.local.key.id else None

    def _position_answer(self, position: LogPosition) -> FetchResponse | None:
        """What a replica needs first whose log is not the beginning of ours."""
        quorum, log = self._quorum, self._quorum.log
        leader = quorum.role
        assert isinstance(leader, Leader)
        offset, snapshot_id = position.end_offset, log.latest_snapshot
        if offset == 0 and snapshot_id is not None and snapshot_id != BOOTSTRAP:
            return self._fetched(leader)._replace(snapshot_id=snapshot_id)
        if offset == 0 and log.start_offset == 0:
            return None
        end = None if offset < log.start_offset else log.epoch_end(position.epoch)
        if end is None:
            return self._fetched(leader)._replace(snapshot_id=snapshot_id)
        if end.epoch != position.epoch or end.end_offset < offset:
            return self._fetched(leader)._replace(diverging=end)
        return None

    def _data_answer(self, leader: Leader, request: FetchRequest) -> FetchResponse | None:
        """None: there is nothing that the replica does not know."""
        offset = request.position.end_offset
        if offset < self._quorum.log.end_offset:
            return self._fetched(leader)._replace(read_offset=offset)
        known = request.high_watermark
        if known is not None and leader.high_watermark is not None and known < min(leader.high_watermark, offset):
            return self._fetched(leader)
        return None

    def _fetched(self, leader: Leader) -> FetchResponse:
        return FetchResponse(
            self._quorum.current(),
            high_watermark=leader.high_watermark,
            log_start_offset=self._quorum.log.start_offset,
        )

    def _park(self, leader: Leader, request_id: object, request: FetchRequest, now_ms: int) -> None:
        leader.parked[request_id] = ParkedFetch(request, now_ms + request.max_wait_ms)

    def _on_replica(self, leader: Leader, key: ReplicaKey, offset: int, now_ms: int) -> None:
        if key.id < 0:
            return  # a client that only reads
        leader.replica(key).on_fetch(offset, self._quorum.log.end_offset, now_ms)
        leader.acknowledged_ids.add(key.id)
        self.commit(now_ms)

    def commit(self, now_ms: int) -> None:
        leader = self._quorum.role
        if not isinstance(leader, Leader):
            return
        advanced = leader.advance(self._quorum.voters, self._quorum.synced_end)
        if advanced is not None:
            self._quorum.advance_high_watermark(advanced)
            self._changes.on_committed(leader, advanced)
            self.answer_parked(now_ms)

    def answer_parked(self, now_ms: int) -> None:
        """Those that there is something for now, or that have waited long enough."""
        leader = self._quorum.role
        if not isinstance(leader, Leader) or not leader.is_established:
            return
        for request_id, parked in list(leader.parked.items()):
            answer = self._position_answer(parked.request.position) or self._data_answer(leader, parked.request)
            if answer is None and now_ms < parked.deadline_ms:
                continue
            del leader.parked[request_id]
            self._quorum.answer(request_id, answer or self._fetched(leader))

    def on_fetch_snapshot(self, request_id: object, request: FetchSnapshotRequest, now_ms: int) -> None:
        quorum = self._quorum
        error = wrong_cluster(quorum, request.cluster_id) or not_its_leader(quorum, request.epoch)
        size = quorum.log.snapshot_size(request.snapshot_id)
        if error is None and (size is None or request.snapshot_id == BOOTSTRAP):
            error = SnapshotNotFound
        if error is None and not 0 <= request.position < (size or 0):
            error = PositionOutOfRange
        if error is not None:
            quorum.answer(request_id, FetchSnapshotResponse(quorum.current(), error))
            return
        leader = quorum.role
        assert isinstance(leader, Leader)
        if request.replica.id >= 0:
            leader.replica(request.replica).last_fetch_ms = now_ms
            leader.acknowledged_ids.add(request.replica.id)
        snapshot_id = SnapshotId(*request.snapshot_id)
        response = FetchSnapshotResponse(quorum.current(), None, snapshot_id, size or 0, request.position)
        quorum.answer(request_id, response)

    # Time

    def poll(self, leader: Leader, now_ms: int) -> int:
        quorum = self._quorum
        if leader.resign_requested:
            quorum.resign(now_ms)
        self.check_quorum(now_ms)
        if quorum.role is not leader:
            return now_ms
        deadline_ms = leader.quorum_deadline_ms(quorum.voters, quorum.settings.check_quorum_timeout_ms)
        self._changes.expire(leader, now_ms)
        if any(now_ms >= parked.deadline_ms for parked in leader.parked.values()):
            self.answer_parked(now_ms)
        times = [parked.deadline_ms for parked in leader.parked.values()]
        times += [] if leader.change is None else [leader.change.deadline_ms]
        times += [] if deadline_ms is None else [deadline_ms]
        return min([self._announce(leader, now_ms), *times])

    def check_quorum(self, now_ms: int) -> None:
        """A leader that no majority follows resigns."""
        quorum, leader = self._quorum, self._quorum.role
        if isinstance(leader, Leader):
            deadline_ms = leader.quorum_deadline_ms(quorum.voters, quorum.settings.check_quorum_timeout_ms)
            if deadline_ms is not None and now_ms >= deadline_ms:
                quorum.resign(now_ms)

    def _announce(self, leader: Leader, now_ms: int) -> int:
        """Tell those voters who leads that do not fetch."""
        quorum = self._quorum
        period_ms = quorum.settings.fetch_timeout_ms // 2
        if now_ms >= leader.begin_epoch_ms:
            leader.begin_epoch_ms = now_ms + period_ms
            leader.forget_silent(quorum.voters, now_ms - OBSERVER_SESSION_MS)
            for voter in quorum.voters.voters:
                replica = leader.of_voter(voter.key)
                is_fetching = replica is not None and now_ms < replica.last_fetch_ms + period_ms
                is_local = voter.key.matches(quorum.local.key)
                if not is_local and not is_fetching and quorum.requests.is_ready(voter.key.id, now_ms):
                    request = BeginQuorumEpochRequest(quorum.current(), voter.key, quorum.local.cluster_id)
                    quorum.send(Peer(voter.key.id, voter.endpoints), request, now_ms)
        return leader.begin_epoch_ms
