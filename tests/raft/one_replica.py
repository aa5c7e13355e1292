"""One core with a log in memory, for the tests of single rules: the test is everybody else."""

import uuid

from raft_model.disk import LogImage, MemoryLog, Snapshot

from barnabas.raft.core.control_records import ControlMessage, leader_change, quorum_records, voters_record
from barnabas.raft.core.election_state import ElectionState
from barnabas.raft.core.log_view import LogBatch, LogPosition
from barnabas.raft.core.messages import (
    BeginQuorumEpochRequest,
    CurrentLeader,
    FetchRequest,
    FetchResponse,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from barnabas.raft.core.quorum import LocalReplica
from barnabas.raft.core.raft import Raft
from barnabas.raft.core.ready import Peer, Ready, Send
from barnabas.raft.core.snapshot_file import BOOTSTRAP, SnapshotId
from barnabas.raft.core.voter_history import VoterHistory
from barnabas.raft.core.voters import ReplicaKey, VersionRange, Voter, VoterEndpoint, VoterSet

CLUSTER_ID = "c"
NO_LOG = LogPosition(0, 0)
ELECTION_MS = 2000
"""At most, with the jitter."""


def key(node_id: int) -> ReplicaKey:
    return ReplicaKey(node_id, uuid.UUID(int=node_id))


def voter(node_id: int) -> Voter:
    return Voter(key(node_id), (VoterEndpoint("CONTROLLER", f"node-{node_id}", 9093),), VersionRange(0, 1))


def voters(*node_ids: int) -> VoterSet:
    return VoterSet(tuple(map(voter, node_ids)))


def static(*node_ids: int) -> VoterSet:
    return VoterSet(tuple(voter(each)._replace(key=ReplicaKey(each)) for each in node_ids))


def records(base_offset: int, epoch: int, *controls: ControlMessage) -> LogBatch:
    return LogBatch(base_offset, base_offset + (len(controls) or 1), epoch, b"", controls)


class Replica:
    """Carries out what the core wants, at once, and keeps what it sends and answers."""

    def __init__(
        self,
        voter_set: VoterSet,
        *,
        local: int = 1,
        election: ElectionState | None = None,
        batches: tuple[LogBatch, ...] = (),
        kraft_version: int = 1,
        persists: bool = True,
        syncs: bool = True,
        bootstrap: tuple[Peer, ...] = (),
    ) -> None:
        self.now_ms = 10_000
        self.persists = persists
        self.syncs = syncs
        self.snapshots: dict[SnapshotId, Snapshot] = {}
        if kraft_version:
            self.snapshots[BOOTSTRAP] = Snapshot(b"", voter_set, 1)
        self.log = MemoryLog(LogImage(batches=batches), self.snapshots)
        history = VoterHistory(voter_set, kraft_version=kraft_version)
        for batch in batches:
            history.add(batch)
        self.raft = Raft(
            local=LocalReplica(voter(local), CLUSTER_ID, bootstrap),
            history=history,
            log=self.log,
            election=election,
            random_below=lambda bound: bound - 1,
        )
        self.sent: list[Send] = []
        self.answers: dict[object, Response] = {}
        self.elections: list[ElectionState] = []
        self.appended: list[ControlMessage] = []
        self.high_watermarks: list[int] = []
        self.readies: list[Ready] = []
        self._count = 0
        self.do(self.raft.start(self.now_ms))
        if self.syncs and self.log.end_offset:
            self.sync()

    @property
    def role(self) -> str:
        return type(self.raft.role).__name__

    def do(self, ready: Ready) -> None:
        self.readies.append(ready)
        self.sent += ready.send
        self.answers |= {answer.request_id: answer.response for answer in ready.answer}
        if ready.high_watermark is not None:
            self.high_watermarks.append(ready.high_watermark)
        if ready.election is not None:
            self.elections.append(ready.election)
            if self.persists:
                self.persisted()
        if ready.truncate_to is not None:
            self.log.truncate(ready.truncate_to)
        if ready.restart_log_at is not None:
            self.log.restart_at(ready.restart_log_at)
        for batch in ready.write:
            self.log.append(batch)
        for control in ready.append:
            self.appended += control.messages
            self.log.append(records(control.base_offset, control.epoch, *control.messages))
        if ready.write or ready.append or (ready.truncate_to, ready.restart_log_at) != (None, None):
            self.do(self.raft.on_log_changed(self.now_ms))
            if self.syncs:
                self.sync()

    def persisted(self) -> None:
        self.do(self.raft.on_persisted(self.elections[-1], self.now_ms))

    def sync(self) -> None:
        self.do(self.raft.on_synced(self.log.end_offset, self.now_ms))

    def wait(self, ms: int) -> None:
        self.now_ms += ms
        self.do(self.raft.on_time(self.now_ms))

    def ask(self, request: Request) -> Response | None:
        """The answer, if there is one at once."""
        self._count += 1
        request_id = f"request {self._count}"
        self.do(self.raft.on_request(request_id, request, self.now_ms))
        return self.answers.get(request_id)

    def last_sent(self, node_id: int) -> Send:
        return [send for send in self.sent if send.to.id == node_id][-1]

    def respond(self, node_id: int, response: Response) -> None:
        """To the last request that it sent there."""
        self.do(self.raft.on_response(self.last_sent(node_id).request_id, response, self.now_ms))

    def refuse(self, node_id: int) -> None:
        self.do(self.raft.on_no_response(self.last_sent(node_id).request_id, self.now_ms))

    def append(self) -> None:
        self.log.append(records(self.log.end_offset, self.raft.epoch))
        self.do(self.raft.on_log_changed(self.now_ms))
        if self.syncs:
            self.sync()

    # What others often say

    def current(self, leader_id: int = -1, epoch: int | None = None) -> CurrentLeader:
        return CurrentLeader(self.raft.epoch if epoch is None else epoch, leader_id)

    def grant(self, *node_ids: int) -> None:
        for node_id in node_ids:
            self.respond(node_id, VoteResponse(self.current(), granted=True))

    def reject(self, *node_ids: int) -> None:
        for node_id in node_ids:
            self.respond(node_id, VoteResponse(self.current()))

    def lead(self) -> "Replica":
        """Win the next election, with all votes that it takes."""
        self.wait(ELECTION_MS)
        others = [each for each in self.raft.voters.ids if each != 1]
        needed = others[: self.raft.voters.majority - 1]
        self.grant(*needed)
        self.grant(*needed)
        assert self.role == "Leader"
        return self

    def commit_all(self) -> "Replica":
        """As if all others had fetched everything."""
        for each in self.raft.voters.ids:
            if each != 1:
                self.fetch(each)
        return self

    def fetch(
        self, node_id: int, offset: int | None = None, *, epoch: int | None = None, max_wait_ms: int = 0
    ) -> FetchResponse | None:
        end_offset = self.log.end_offset if offset is None else offset
        last_epoch = self.log.epoch_before(end_offset) or 0
        position = LogPosition(last_epoch if epoch is None else epoch, end_offset)
        response = self.ask(
            FetchRequest(key(node_id), self.raft.epoch, position, high_watermark=0, max_wait_ms=max_wait_ms)
        )
        assert response is None or isinstance(response, FetchResponse)
        return response

    def follow(self, leader_id: int, epoch: int = 5) -> "Replica":
        self.ask(BeginQuorumEpochRequest(CurrentLeader(epoch, leader_id)))
        assert self.raft.leader_id == leader_id
        return self

    def follow_by_name(self, leader_id: int, epoch: int = 5) -> "Replica":
        """A leader that it knows only from what it is told."""
        endpoints = voter(leader_id).endpoints
        self.ask(BeginQuorumEpochRequest(CurrentLeader(epoch, leader_id, endpoints)))
        return self

    def fetched(self, *batches: LogBatch, high_watermark: int | None = None) -> None:
        """The leader's answer to the last fetch."""
        leader_id = self.raft.leader_id
        self.respond(leader_id, FetchResponse(self.current(leader_id), high_watermark=high_watermark, batches=batches))


def vote(candidate: int, epoch: int, log_end: LogPosition = NO_LOG, *, pre_vote: bool = False) -> VoteRequest:
    return VoteRequest(epoch, key(candidate), log_end, pre_vote, key(1), CLUSTER_ID)


def first_records(voter_set: VoterSet, epoch: int = 1) -> tuple[LogBatch, ...]:
    """What the first leader of all writes."""
    return (records(0, epoch, leader_change(1, voter_set, ()), *quorum_records(voter_set)),)


def new_voters(base_offset: int, epoch: int, voter_set: VoterSet) -> LogBatch:
    return records(base_offset, epoch, voters_record(voter_set))
