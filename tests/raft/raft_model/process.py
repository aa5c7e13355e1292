"""One process of one replica: the shell of the core, over a simulated disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.raft.core.candidate import Candidate
from barnabas.raft.core.election_state import ElectionState
from barnabas.raft.core.follower import Follower
from barnabas.raft.core.leader import Leader
from barnabas.raft.core.log_view import LogBatch
from barnabas.raft.core.messages import (
    ApiVersionsResponse,
    FetchResponse,
    FetchSnapshotResponse,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from barnabas.raft.core.raft import Raft
from barnabas.raft.core.ready import Answer, ControlBatch, Ready
from barnabas.raft.core.snapshot_file import SnapshotId
from barnabas.raft.core.voter_history import BEFORE_THE_LOG, VoterHistory
from barnabas.raft.core.voters import ReplicaKey, VoterSet
from raft_model.disk import Snapshot
from raft_model.oracle import chained

if TYPE_CHECKING:
    from raft_model.world import World

FOOTER = b" END"


class Process:
    def __init__(self, world: World, node_id: int) -> None:
        self.world = world
        self.node_id = node_id
        self.disk = world.disks[node_id]
        self.key = ReplicaKey(node_id, self.disk.directory_id)
        self.log = self.disk.log
        self.is_running = True
        self.paused_until_ms = -1_000_000
        self.applied = 0
        self.chain = 0
        self.raft: Raft
        self._is_syncing = False
        self._truncations = 0
        self._timer_ms = -1
        self._persisting: list[ElectionState] = []
        self._files: dict[SnapshotId, bytes] = {}
        self._votes: dict[object, VoteRequest] = {}
        self._pending: list[tuple[int, int]] = []
        """End offset and epoch of appends that a client waits for."""
        self._leading = 0
        self._targets: dict[int, int] = {}

    # Life

    def boot(self) -> None:
        world, log = self.world, self.log
        snapshot_id = log.latest_snapshot
        voters, kraft_version, offset = VoterSet(()), 1, BEFORE_THE_LOG
        if world.kraft_version == 0:
            voters, kraft_version = world.first_voters, 0
        if snapshot_id is not None:
            snapshot = self.disk.snapshots[snapshot_id]
            voters, kraft_version, offset = snapshot.voters, snapshot.kraft_version, snapshot_id.end_offset - 1
            if snapshot_id.end_offset > 0 and log.epoch_before(snapshot_id.end_offset) != snapshot_id.epoch:
                log.restart_at(snapshot_id)
            self._load(snapshot_id)
        history = VoterHistory(voters, kraft_version=kraft_version, offset=offset)
        for batch in log.image.batches:
            if batch.base_offset > offset:
                history.add(batch)
        self.raft = world.make_raft(
            local=world.local_replica(self.node_id),
            history=history,
            log=log,
            election=self.disk.election,
            random_below=world.random.randrange,
        )
        self._carry_out(self.raft.start(world.now_ms))

    def kill(self, *, power_cut: bool) -> None:
        self.is_running = False
        for election in self._persisting:  # some of the writes under way may have reached the disk
            if self.world.random.random() < 0.5:
                break
            self.disk.election = election
        if power_cut:
            self.log.power_cut(self.world.random)
        self.world.connections_break(self)

    def when_awake(self, event: Callable[[], None]) -> None:
        delay_ms = self.paused_until_ms - self.world.now_ms
        if delay_ms > 0:
            self.world.at(delay_ms, lambda: self.when_awake(event))
        elif self.is_running:
            event()

    def _later(self, delay_ms: int, event: Callable[[], None]) -> None:
        self.world.at(delay_ms, lambda: self.when_awake(event))

    # Events

    def on_request(self, caller: object, request: Request) -> None:
        if isinstance(request, VoteRequest):
            self._votes[caller] = request
        self._carry_out(self.raft.on_request(caller, request, self.world.now_ms))

    def on_response(self, request_id: int, response: Response) -> None:
        self._targets.pop(request_id, None)
        self._carry_out(self.raft.on_response(request_id, response, self.world.now_ms))

    def on_refused(self, request_id: int, target: int) -> None:
        if self._targets.pop(request_id, None) is None:
            return
        self._carry_out(self.raft.on_no_response(request_id, self.world.now_ms))
        if self.raft.leader_id == target:
            self._carry_out(self.raft.on_leader_unreachable(target, self.world.now_ms))

    def waiting_for(self, node_id: int) -> list[int]:
        return [request_id for request_id, target in self._targets.items() if target == node_id]

    def append(self, data: bytes) -> None:
        """As a client of the leader."""
        base_offset, epoch = self.log.end_offset, self.raft.epoch
        self._write(LogBatch(base_offset, base_offset + 1 + len(data) % 3, epoch, data))
        self._pending.append((self.log.end_offset, epoch))
        self._carry_out(self.raft.on_log_changed(self.world.now_ms))

    def read(self, since_ms: int) -> None:
        if self.raft.may_read(self.world.now_ms):
            self.world.oracle.on_read(self.key, self.applied, since_ms)

    def take_snapshot(self) -> None:
        end_offset = self.applied
        epoch = self.log.epoch_before(end_offset)
        latest = self.log.latest_snapshot
        if epoch is None or end_offset == 0 or (latest is not None and latest.end_offset >= end_offset):
            return
        padding = b"." * self.world.random.randrange(300)
        content = b"%d %b%b" % (self.chain, padding, FOOTER)
        self.disk.snapshots[SnapshotId(end_offset, epoch)] = Snapshot(content, *self.raft.history.at(end_offset))
        if self.world.random.random() < 0.8:
            boundaries = [batch.base_offset for batch in self.log.image.batches if batch.end_offset <= end_offset]
            self.log.delete_prefix(self.world.random.choice([*boundaries, end_offset, end_offset]))
            for old in [each for each in self.disk.snapshots if each.end_offset < end_offset]:
                del self.disk.snapshots[old]
        self._start_sync()

    # Carrying out

    def _carry_out(self, ready: Ready) -> None:
        """Everything, then the events that this leads to."""
        if ready.election is not None:
            self._persist(ready.election)
        if self._change_log(ready):
            self._send(ready)
            self._carry_out(self.raft.on_log_changed(self.world.now_ms))
        else:
            self._send(ready)
        self._check()
        self._start_sync()
        if not 0 <= self._timer_ms - self.world.now_ms <= max(0, self.raft.next_time_ms - self.world.now_ms):
            self._set_timer()

    def _set_timer(self) -> None:
        self._timer_ms = max(self.raft.next_time_ms, self.world.now_ms + 1)
        self._later(self._timer_ms - self.world.now_ms, self._on_timer)

    def _on_timer(self) -> None:
        if self.world.now_ms >= self._timer_ms:
            self._timer_ms = -1
        if self.world.now_ms >= self.raft.next_time_ms:
            self._carry_out(self.raft.on_time(self.world.now_ms))
        elif self._timer_ms < 0:
            self._set_timer()

    def _persist(self, election: ElectionState) -> None:
        self._persisting.append(election)
        delay_ms = self._disk_delay_ms()
        self._later(delay_ms, self._persisted)
        if self.world.random.random() < self.world.power_cuts:
            self.world.at(self.world.random.randrange(delay_ms + 10), self._power_cut)

    def _disk_delay_ms(self) -> int:
        random = self.world.random
        if self.node_id in self.world.slow_disks:
            return random.randrange(1, 1500)
        return random.randrange(1, 300 if random.random() < 0.03 else 10)

    def _power_cut(self) -> None:
        if self.is_running:
            self.kill(power_cut=True)
            self.world.at(self.world.random.choice((1, 30, 300, 3000)), lambda: self.world.restart(self))

    def _persisted(self) -> None:
        self.disk.election = self._persisting.pop(0)
        self._carry_out(self.raft.on_persisted(self.disk.election, self.world.now_ms))

    def _change_log(self, ready: Ready) -> bool:
        if ready.truncate_to is not None:
            self._truncations += 1
            self.world.oracle.truncations += 1
            self.log.truncate(ready.truncate_to)
        if ready.restart_log_at is not None:
            self._truncations += 1
            self.world.oracle.snapshots += 1
            self.log.restart_at(ready.restart_log_at)
            self._load(ready.restart_log_at)
        for batch in ready.write:
            self._write(batch)
        for control in ready.append:
            assert control.base_offset == self.log.end_offset
            self._write(as_batch(control))
        changes = (ready.truncate_to, ready.restart_log_at, ready.write, ready.append)
        return changes != (None, None, (), ())

    def _write(self, batch: LogBatch) -> None:
        self.world.oracle.on_record(batch, self.log.epoch_before(batch.base_offset) if batch.base_offset else 0)
        self.log.append(batch)

    def _send(self, ready: Ready) -> None:
        if ready.chunk is not None:
            snapshot_id, position, data = ready.chunk
            self._files[snapshot_id] = (b"" if position == 0 else self._files[snapshot_id]) + data
        if ready.verify is not None:
            snapshot_id = ready.verify
            self._later(self.world.random.randrange(1, 50), lambda: self._verify(snapshot_id))
        if ready.high_watermark is not None:
            self._apply(ready.high_watermark)
        for send in ready.send:
            self._targets[send.request_id] = int(send.to.endpoints[0].host.removeprefix("node-"))
            self.world.send(self, send)
        for answer in ready.answer:
            self._answer(answer)

    def _answer(self, answer: Answer) -> None:
        response = answer.response
        if isinstance(response, VoteResponse):
            request = self._votes.pop(answer.request_id, None)
            if response.granted and request is not None and not request.pre_vote:
                self.world.oracle.on_vote(self.key, request.epoch, request.candidate)
        elif isinstance(response, FetchResponse) and response.read_offset is not None:
            batches = self.log.read(response.read_offset, self.world.random.choice((1, 1, 2, 5)))
            response = response._replace(batches=batches, read_offset=None)
        elif isinstance(response, FetchSnapshotResponse) and response.snapshot_id is not None:
            snapshot = self.disk.snapshots[response.snapshot_id]
            data = snapshot.content[response.position : response.position + self.world.random.randrange(1, 100)]
            response = response._replace(data=data)
        elif isinstance(response, ApiVersionsResponse):
            pass
        self.world.answer(self, answer, response)

    def _verify(self, snapshot_id: SnapshotId) -> None:
        content, now_ms = self._files.pop(snapshot_id, b""), self.world.now_ms
        if not content.endswith(FOOTER):
            self._carry_out(self.raft.on_snapshot_damaged(snapshot_id, now_ms))
            return
        voters, kraft_version = self._voters_in(snapshot_id)
        self.disk.snapshots[snapshot_id] = Snapshot(content, voters, kraft_version)
        self._carry_out(self.raft.on_snapshot_verified(snapshot_id, voters, kraft_version, now_ms))

    def _voters_in(self, snapshot_id: SnapshotId) -> tuple[VoterSet, int]:
        """As the records that were committed before the snapshot say."""
        static = self.world.kraft_version == 0
        history = VoterHistory(self.world.first_voters, kraft_version=0 if static else 1)
        for batch in self.world.oracle.committed:
            history.add(batch)
        return history.at(snapshot_id.end_offset)

    def _load(self, snapshot_id: SnapshotId) -> None:
        snapshot = self.disk.snapshots.get(snapshot_id)
        content = self._files.get(snapshot_id, b"") if snapshot is None else snapshot.content
        self.applied = snapshot_id.end_offset
        self.chain = int(content.split()[0]) if content.endswith(FOOTER) else -1
        self.world.oracle.check_state(self.key, self.applied, self.chain)

    # Syncing

    def _start_sync(self) -> None:
        if not self._is_syncing and (self.log.unsynced or self.raft.quorum.synced_end < self.log.end_offset):
            self._is_syncing = True
            image, end_offset, truncations = self.log.image, self.log.end_offset, self._truncations
            delay_ms = self._disk_delay_ms()
            self._later(delay_ms, lambda: self._synced(image, end_offset, truncations))
            if self.world.random.random() < self.world.power_cuts / 20:
                self.world.at(self.world.random.randrange(delay_ms + 10), self._power_cut)

    def _synced(self, image: object, end_offset: int, truncations: int) -> None:
        self._is_syncing = False
        if truncations == self._truncations:
            self.log.sync(image)  # type: ignore[arg-type]
            self._carry_out(self.raft.on_synced(end_offset, self.world.now_ms))
        else:
            self._start_sync()

    # Checks

    def _apply(self, high_watermark: int) -> None:
        oracle = self.world.oracle
        oracle.on_high_watermark(self.key, self.applied, high_watermark)
        for batch in self.log.image.batches:
            if self.applied <= batch.base_offset < high_watermark:
                self.chain = chained(self.chain, batch)
                self.applied = batch.end_offset
                oracle.on_applied(self.key, self.raft.epoch, batch, self.chain)
        if isinstance(self.raft.role, Leader):
            done = [place for place in self._pending if place[0] <= high_watermark and place[1] == self.raft.epoch]
            if done:
                oracle.acknowledged.append((self.world.now_ms, max(done)[0]))
        self._pending = [place for place in self._pending if place[0] > high_watermark]

    def _check(self) -> None:
        role, oracle = self.raft.role, self.world.oracle
        if isinstance(role, Candidate) and self.node_id in role.tally.granting_ids:
            oracle.on_vote(self.key, self.raft.epoch, self.key)
        if isinstance(role, Leader):
            oracle.on_leader(self.key, self.raft.epoch)
            if self._leading != self.raft.epoch:
                self._leading = self.raft.epoch
                oracle.on_vote(self.key, self.raft.epoch, self.key)
                oracle.on_complete_leader(self.key, self.raft.epoch, self.log.start_offset, self.log.image.batches)

    @property
    def is_following(self) -> bool:
        return isinstance(self.raft.role, Follower)


def as_batch(control: ControlBatch) -> LogBatch:
    end_offset = control.base_offset + len(control.messages)
    data = repr(control.messages).encode()
    return LogBatch(control.base_offset, end_offset, control.epoch, data, control.messages)
