"""What happens to a quorum: clients, crashes, cuts, pauses, lost disks, snapshots and changes of the voters."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

from barnabas.raft.core.messages import AddVoterRequest, RemoveVoterRequest
from barnabas.raft.core.raft import Raft
from barnabas.raft.core.settings import QuorumSettings
from raft_model.oracle import Broken
from raft_model.process import Process
from raft_model.world import CLUSTER_ID, DELAY_MS_MAX, World

# A leader may lead so long after it heard from a majority, by a fetch that was under way for some time before that.
STALE_READ_MS = QuorumSettings().check_quorum_timeout_ms + DELAY_MS_MAX
PAUSE_MS_MAX = 5000
FAULTS_PAUSE_MS = (1, 1, 5, 20, 20, 400, 1000, 3000)
"""They come in bursts; then there is time for what they lead to."""


class Workload:
    def __init__(self, world: World) -> None:
        self.world = world
        self.random = world.random
        self.is_hostile = True
        self.faults = 0
        self._number = itertools.count()
        weights = {
            self._crash: 8,
            self._crash_leader: 6,
            self._cut: 3,
            self._isolate: 6,
            self._isolate_leader: 4,
            self._pause: 3,
            self._lose_messages: 3,
            self._slow_disk: 4,
            self._snapshot: 8,
            self._change_voters: 12 if world.kraft_version else 0,
            self._lose_disk: 5 if world.kraft_version else 0,
            self._power_cut_everywhere: 3,
        }
        # Each seed has its own mixture: some faults hide others.
        self._faults = {fault: weight * self.random.choice((0, 0.5, 1, 2)) for fault, weight in weights.items()}
        self._faults |= {self._restart: 14, self._heal: 4}
        world.power_cuts = self.random.choice((0, 0.05, 0.2))
        self._tick_clients()
        self._tick_faults()

    def _tick_clients(self) -> None:
        for process in self.world.leaders():
            if self.random.random() < 0.8:
                for _ in range(self.random.choice((1, 1, 1, 4))):
                    process.append(b"%d" % next(self._number))
        for process in self.world.running():
            # A fetch may also have waited in a process that was paused.
            if process.paused_until_ms + PAUSE_MS_MAX <= self.world.now_ms:
                process.read(self.world.now_ms - STALE_READ_MS)
        self.world.at(self.random.randrange(1, 300), self._tick_clients)

    def _tick_faults(self) -> None:
        if self.is_hostile:
            faults, weights = zip(*self._faults.items(), strict=True)
            self.random.choices(faults, weights)[0]()
            self.faults += 1
            self.world.at(self.random.choice(FAULTS_PAUSE_MS), self._tick_faults)

    def make_peace(self) -> None:
        self.is_hostile = False
        self.world.power_cuts = 0.0
        self._heal()
        for node_id, process in self.world.processes.items():
            process.paused_until_ms = min(process.paused_until_ms, self.world.now_ms)
            if not process.is_running:
                self.world.start_process(node_id)

    # Faults

    def _any(self) -> Process | None:
        running = self.world.running()
        return self.random.choice(running) if running else None

    def _leader(self) -> Process | None:
        leaders = self.world.leaders()
        return self.random.choice(list(leaders)) if leaders else None

    def _kill(self, process: Process | None) -> None:
        if process is not None:
            process.kill(power_cut=self.random.random() < 0.7)

    def _crash(self) -> None:
        self._kill(self._any())

    def _crash_leader(self) -> None:
        self._kill(self._leader())

    def _power_cut_everywhere(self) -> None:
        for process in self.world.running():
            process.kill(power_cut=True)
        for node_id in self.world.processes:
            self.world.start_process(node_id)

    def _restart(self) -> None:
        for node_id, process in self.world.processes.items():
            if not process.is_running and self.random.random() < 0.7:
                self.world.start_process(node_id)

    def _cut(self) -> None:
        source, target = self.random.sample(sorted(self.world.processes), 2)
        self.world.cuts.add((source, target))
        if self.random.random() < 0.5:
            self.world.cuts.add((target, source))

    def _isolate(self) -> None:
        nodes = sorted(self.world.processes)
        side = set(self.random.sample(nodes, self.random.randrange(1, len(nodes))))
        self.world.cuts |= {(one, other) for one in nodes for other in nodes if (one in side) != (other in side)}

    def _isolate_leader(self) -> None:
        leader = self._leader()
        if leader is not None:
            others = [node_id for node_id in self.world.processes if node_id != leader.node_id]
            self.world.cuts |= {(leader.node_id, other) for other in others}
            if self.random.random() < 0.7:
                self.world.cuts |= {(other, leader.node_id) for other in others}

    def _heal(self) -> None:
        self.world.cuts.clear()
        self.world.loss = 0.0
        self.world.slow_disks.clear()

    def _pause(self) -> None:
        process = self._any()
        if process is not None:
            process.paused_until_ms = self.world.now_ms + self.random.randrange(PAUSE_MS_MAX)

    def _lose_messages(self) -> None:
        self.world.loss = self.random.choice((0.01, 0.1, 0.3))

    def _slow_disk(self) -> None:
        nodes = sorted(self.world.processes)
        self.world.slow_disks.update(self.random.sample(nodes, self.random.choice((1, 1, len(nodes)))))

    def _snapshot(self) -> None:
        process = self._any()
        if process is not None:
            process.take_snapshot()

    def _lose_disk(self) -> None:
        """Not so often that no majority is left: that is not what a quorum survives."""
        leader = self._leader()
        process = self._any()
        if leader is None or process is None or process is leader:
            return
        voters = leader.raft.voters
        intact = [key for key in (p.key for p in self.world.processes.values()) if key in voters]
        if leader.key in voters and len(intact) > voters.majority:
            process.kill(power_cut=True)
            self.world.lose_disk(process.node_id)
            self.world.start_process(process.node_id)

    def _change_voters(self) -> None:
        """An administrator asks a leader; often for more than one change at once."""
        leader = self._leader()
        if leader is None:
            return
        for _ in range(self.random.choice((1, 1, 2, 3))):
            voters = leader.raft.voters
            current = [process.key for process in self.world.processes.values()]
            outside = [key for key in current if key.id not in voters.ids]
            replaced = [voter.key for voter in voters.voters if voter.key not in current]
            self.world.oracle.changes += 1
            if replaced or (len(voters.voters) > 2 and self.random.random() < 0.5) or not outside:
                keys = replaced or [voter.key for voter in voters.voters]
                if len(voters.voters) > 2:
                    leader.on_request(None, RemoveVoterRequest(self.random.choice(keys), CLUSTER_ID))
            else:
                voter = self.world.voter(self.random.choice(outside).id)
                leader.on_request(None, AddVoterRequest(voter, cluster_id=CLUSTER_ID))


class Summary(NamedTuple):
    elections: int
    faults: int
    committed_end: int
    reads: int
    truncations: int
    snapshots: int


SIZES = ((3, 2), (5, 1), (3, 3))
"""Voters and observers, by seed."""
HOSTILE_MS = 40_000
PEACEFUL_MS = 30_000


def simulate(seed: int, make_raft: Callable[..., Raft] = Raft, *, kraft_version: int = 1) -> Summary:
    """Raises `Broken`, if an invariant does not hold; in peace, everybody must get everything."""
    voters, observers = SIZES[seed % len(SIZES)]
    world = World(seed, voters=voters, observers=observers, make_raft=make_raft, kraft_version=kraft_version)
    workload = Workload(world)
    world.run_for(HOSTILE_MS)
    workload.make_peace()
    world.run_for(PEACEFUL_MS)
    oracle = world.oracle
    committed_end = oracle.committed_end
    world.run_for(PEACEFUL_MS, until=lambda: all(each.applied > committed_end for each in world.running()))
    behind = [process.node_id for process in world.running() if process.applied <= committed_end]
    if behind:
        raise Broken(f"nodes {behind} do not get new records although nothing fails any more")
    return Summary(oracle.elections, workload.faults, committed_end, oracle.reads, oracle.truncations, oracle.snapshots)
