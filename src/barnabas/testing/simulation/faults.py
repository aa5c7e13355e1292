"""Faults: what breaks when, drawn from a seed.

A plan is a list of faults, each with a time and a duration; printed, it can be read and repeated. At the end of a
fault its damage is repaired: a dead node starts again, a cut way is healed, a full disk gets room.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Literal, get_args

from barnabas.testing.simulation.node import SimulatedNode
from barnabas.testing.simulation.simulation import Simulation

Kind = Literal[
    "kill", "power cut", "power cut in a write", "pause", "cut", "cut one way", "majority ring", "reset",
    "slow disk", "full disk", "clock jump", "lost disk",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
STOPS_PROCESS: Final = frozenset({"kill", "power cut", "power cut in a write", "lost disk"})
_CHANGES_MAX: Final = 60
_SLOWNESS: Final = (20, 200, 1_000)
_JUMP_MS_MAX: Final = 1_800_000
"""Brokers refuse records that are an hour ahead of their clock (`message.timestamp.after.max.ms`)."""


@dataclass(frozen=True, slots=True)
class Fault:
    at_ms: int
    kind: Kind
    node: str
    duration_ms: int
    others: tuple[str, ...] = ()
    """For cuts and resets: the other end. For a ring: all nodes in it."""
    size: int = 0
    """Of a clock jump in milliseconds; the factor of a slow disk; the changes before a power cut in a write."""

    def __str__(self) -> str:
        others = f" from {', '.join(self.others)}" if self.others else ""
        size = f" by {self.size}" if self.size else ""
        return f"{self.at_ms / 1000:.3f} s: {self.kind}{size}, {self.node}{others}, for {self.duration_ms / 1000:.3f} s"


@dataclass(frozen=True, slots=True)
class FaultPlan:
    seed: int
    faults: tuple[Fault, ...]

    @classmethod
    def draw(
        cls,
        seed: int,
        *,
        nodes: Sequence[str],
        peers: Sequence[str] = (),
        kinds: Sequence[Kind] = KINDS,
        duration_ms: int,
        gap_ms: int = 2_000,
    ) -> "FaultPlan":
        """Faults of `nodes`, one after another; `peers` are clients: they lose connections, but never crash."""
        random = Random(f"{seed}/faults")
        usable = [kind for kind in kinds if kind != "majority ring" or len(nodes) >= 3]
        faults = []
        now_ms = random.randint(gap_ms // 2, gap_ms)
        while now_ms < duration_ms:
            fault = _draw(random, now_ms, nodes, peers, random.choice(usable), gap_ms)
            faults.append(fault)
            now_ms += fault.duration_ms + random.randint(gap_ms // 4, 2 * gap_ms)
        return cls(seed, tuple(faults))

    def __str__(self) -> str:
        return "\n".join([f"faults of seed {self.seed}:", *(f"  {fault}" for fault in self.faults)])

    async def inject(self, simulation: Simulation, *, on_fault: Callable[[Fault], None] = lambda _: None) -> None:
        """Carry it out; returns when the last fault is repaired."""
        for fault in self.faults:
            await asyncio.sleep(max(0, fault.at_ms - simulation.now_ms) / 1000)
            on_fault(fault)
            simulation.counters["faults"] += 1
            begin(simulation, fault)
            await asyncio.sleep(fault.duration_ms / 1000)
            repair(simulation, fault)


def _draw(random: Random, at_ms: int, nodes: Sequence[str], peers: Sequence[str], kind: Kind, gap_ms: int) -> Fault:
    node = random.choice(nodes)
    duration_ms = random.randint(gap_ms // 20, 2 * gap_ms)
    others: tuple[str, ...] = ()
    size = 0
    if kind in ("cut", "cut one way", "reset"):
        candidates = [each for each in (*nodes, *peers) if each != node]
        others = tuple(random.sample(candidates, random.randint(1, len(candidates))))
    elif kind == "majority ring":
        others = tuple(random.sample(nodes, len(nodes)))
    elif kind == "clock jump":
        size = random.randint(-_JUMP_MS_MAX, _JUMP_MS_MAX)
    elif kind == "slow disk":
        size = random.choice(_SLOWNESS)
    elif kind == "power cut in a write":
        size = random.randint(1, _CHANGES_MAX)
    return Fault(at_ms, kind, node, duration_ms, others, size)


def begin(simulation: Simulation, fault: Fault) -> None:
    node, network = simulation.nodes[fault.node], simulation.network
    match fault.kind:
        case "kill":
            node.kill()
        case "power cut":
            node.power_cut()
        case "power cut in a write":
            node.power_cut_at_change(fault.size)
        case "lost disk":
            node.kill()
            node.lose_disk()
        case "pause":
            node.pause()
        case "cut" | "cut one way":
            for other in fault.others:
                network.cut(fault.node, other, one_way=fault.kind == "cut one way")
        case "majority ring":
            network.leave_majority_ring(fault.others)
        case "reset":
            for other in fault.others:
                network.reset_connections(fault.node, other)
        case "slow disk":
            simulation.counters["slow disks"] += 1
            node.disk_speed.slowness = fault.size
        case "full disk":
            simulation.counters["full disks"] += 1
            node.disk.capacity_bytes = 0
        case "clock jump":
            simulation.counters["clock jumps"] += 1
            node.clock.jump(fault.size)


def repair(simulation: Simulation, fault: Fault) -> None:
    node, network = simulation.nodes[fault.node], simulation.network
    match fault.kind:
        case "power cut in a write":
            node.disk.power_cut_at = None
        case "pause":
            node.resume()
        case "cut" | "cut one way":
            for other in fault.others:
                network.heal(fault.node, other, one_way=fault.kind == "cut one way")
        case "majority ring":
            network.heal_all()
        case "slow disk":
            node.disk_speed.slowness = 1
        case "full disk":
            node.disk.capacity_bytes = None
        case "clock jump":
            node.clock.jump(-fault.size)
    start_if_stopped(node)


def start_if_stopped(node: SimulatedNode) -> None:
    if not node.is_running:
        node.simulation.counters["restarts"] += 1
        node.start()
