"""Replicas, their processes, and the network between them. One seed decides everything."""

import heapq
import itertools
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from barnabas.raft.core.messages import Response
from barnabas.raft.core.quorum import LocalReplica
from barnabas.raft.core.raft import Raft
from barnabas.raft.core.ready import Answer, Peer, Send
from barnabas.raft.core.snapshot_file import BOOTSTRAP
from barnabas.raft.core.voters import ReplicaKey, VersionRange, Voter, VoterEndpoint, VoterSet
from raft_model.disk import Disk, Snapshot
from raft_model.oracle import Oracle
from raft_model.process import Process

CLUSTER_ID = "simulated"
DELAY_MS_MAX = 400


@dataclass(frozen=True)
class Caller:
    """Who waits for an answer: a request of one process."""

    process: Process
    request_id: int


class World:
    def __init__(
        self,
        seed: int,
        *,
        voters: int,
        observers: int,
        make_raft: Callable[..., Raft] = Raft,
        kraft_version: int = 1,
    ) -> None:
        self.random = Random(seed)
        self.make_raft = make_raft
        self.kraft_version = kraft_version
        self.now_ms = 0
        self.oracle = Oracle()
        self.loss = 0.0
        self.power_cuts = 0.0
        """How often the power goes while something is being written."""
        self.slow_disks: set[int] = set()
        self.cuts: set[tuple[int, int]] = set()
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._count = itertools.count()
        self._next_directory = itertools.count(1)
        self.disks = {node_id: Disk(self.new_directory()) for node_id in range(1, voters + observers + 1)}
        ids = range(1, voters + 1)
        self.first_voters = VoterSet(tuple(self.voter(node_id) for node_id in ids))
        if kraft_version == 0:
            self.first_voters = VoterSet(
                tuple(
                    voter._replace(key=ReplicaKey(voter.key.id), kraft_versions=VersionRange(0, 0))
                    for voter in self.first_voters.voters
                )
            )
        for node_id in ids if kraft_version else ():
            self.disks[node_id].snapshots[BOOTSTRAP] = Snapshot(b"0 END", self.first_voters, 1)
        self.processes = {node_id: Process(self, node_id) for node_id in self.disks}
        for process in self.processes.values():
            process.boot()

    def new_directory(self) -> uuid.UUID:
        return uuid.UUID(int=next(self._next_directory))

    def voter(self, node_id: int) -> Voter:
        endpoint = VoterEndpoint("CONTROLLER", f"node-{node_id}", 9093)
        return Voter(ReplicaKey(node_id, self.disks[node_id].directory_id), (endpoint,), VersionRange(0, 1))

    def local_replica(self, node_id: int) -> LocalReplica:
        bootstrap = tuple(
            Peer(-2 - number, self.voter(other).endpoints)
            for number, other in enumerate(self.disks)
            if other != node_id
        )
        return LocalReplica(self.voter(node_id), CLUSTER_ID, bootstrap)

    # Time

    def at(self, delay_ms: int, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now_ms + delay_ms, next(self._count), event))

    def run_for(self, duration_ms: int, until: Callable[[], bool] = lambda: False) -> None:
        end_ms = self.now_ms + duration_ms
        while self._events and self._events[0][0] <= end_ms and not until():
            self.now_ms, _, event = heapq.heappop(self._events)
            event()
        if not until():
            self.now_ms = end_ms

    # The network

    def delay_ms(self) -> int:
        random = self.random
        return random.randrange(DELAY_MS_MAX) if random.random() < 0.03 else random.randrange(1, 20)

    def is_lost(self, source: int, target: int) -> bool:
        return (source, target) in self.cuts or self.random.random() < self.loss

    def send(self, process: Process, send: Send) -> None:
        target = int(send.to.endpoints[0].host.removeprefix("node-"))
        caller = Caller(process, send.request_id)
        copies = 2 if self.random.random() < self.loss else 1
        for _ in range(copies):
            if not self.is_lost(process.node_id, target):
                self.at(self.delay_ms(), lambda: self._deliver(caller, target, send))

    def _deliver(self, caller: Caller, target: int, send: Send) -> None:
        process = self.processes[target]
        if process.is_running:
            process.when_awake(lambda: process.on_request(caller, send.request))
            return
        # Nobody listens there: the operating system refuses the connection.
        self._refuse(caller, target)

    def _refuse(self, caller: Caller, target: int) -> None:
        if not self.is_lost(target, caller.process.node_id):
            refused = caller.process
            self.at(self.delay_ms(), lambda: refused.when_awake(lambda: refused.on_refused(caller.request_id, target)))

    def answer(self, process: Process, answer: Answer, response: Response) -> None:
        caller = answer.request_id
        if isinstance(caller, Caller) and not self.is_lost(process.node_id, caller.process.node_id):
            waiting = caller.process
            self.at(
                self.delay_ms(),
                lambda: waiting.when_awake(lambda: waiting.on_response(caller.request_id, response)),
            )

    def connections_break(self, dead: Process) -> None:
        """Everybody who waits for an answer of a process that died hears so."""
        for process in self.running():
            for request_id in process.waiting_for(dead.node_id):
                self._refuse(Caller(process, request_id), dead.node_id)

    # Processes

    def running(self) -> list[Process]:
        return [process for process in self.processes.values() if process.is_running]

    def start_process(self, node_id: int) -> None:
        self.processes[node_id] = Process(self, node_id)
        self.processes[node_id].boot()

    def restart(self, process: Process) -> None:
        if self.processes[process.node_id] is process:
            self.start_process(process.node_id)

    def lose_disk(self, node_id: int) -> None:
        assert not self.processes[node_id].is_running
        self.disks[node_id] = Disk(self.new_directory())

    def leaders(self) -> Sequence[Process]:
        return [process for process in self.running() if process.raft.may_append(self.now_ms)]
