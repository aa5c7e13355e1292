"""A network of hosts: how long bytes take from one to another, and which ways are cut.

A way leads from one host to another; the way back is another one. Packets on a cut way are lost, and TCP sends them
again until it gives up (`pipe`). A host has the part of TCP that is in the kernel: it answers for a process that is
paused, and refuses connections when the process is gone. A host without power answers nothing.
"""

import socket
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from barnabas.testing.simulation.scheduler import Call, Scheduler

if TYPE_CHECKING:
    from barnabas.testing.simulation.server import Port
    from barnabas.testing.simulation.transport import SimulatedTransport

LATENCY_US: Final = (100, 1_000)
"""In one data centre."""
LOOPBACK_US: Final = (5, 30)
_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1"})
_EPHEMERAL_PORT_FIRST: Final = 32_768


@dataclass(slots=True, eq=False)
class Host:
    name: str
    address: str
    boots: int = 1
    has_power: bool = True
    ports: dict[int, "Port"] = field(default_factory=dict)
    """Bound by the running process."""
    connections: dict["SimulatedTransport", None] = field(default_factory=dict)
    _next_port: int = _EPHEMERAL_PORT_FIRST

    def take_port(self) -> int:
        while True:
            self._next_port += 1
            if self._next_port not in self.ports:
                return self._next_port


class Network:
    def __init__(self, scheduler: Scheduler, counters: Counter[str]) -> None:
        self.scheduler = scheduler
        self.random = scheduler.random_for("network")
        self.counters = counters
        self._by_name: dict[str, Host] = {}
        self._by_address: dict[str, Host] = {}
        self._cut: set[tuple[Host, Host]] = set()  # never iterated: its order differs from run to run
        self._latency_us: dict[tuple[Host, Host], tuple[int, int]] = {}

    def add_host(self, name: str) -> Host:
        if name in self._by_name:
            raise ValueError(f"there is a node {name} already; give each its own name")
        number = len(self._by_name) + 1
        host = Host(name, f"10.0.{number // 250}.{number % 250 + 1}")
        self._by_name[name] = self._by_address[host.address] = host
        return host

    def resolve(self, asking: Host, name: str | None) -> Host:
        if not name or name in _LOCAL_NAMES:
            return asking
        found = self._by_name.get(name) or self._by_address.get(name)
        if found is None:
            raise socket.gaierror(socket.EAI_NONAME, f"no simulated node has the name or address {name}")
        return found

    # --- faults

    def set_latency(self, source: str, target: str, *, ms_min: float, ms_max: float) -> None:
        """On the way from `source` to `target` only."""
        way = self._by_name[source], self._by_name[target]
        self._latency_us[way] = round(ms_min * 1000), round(ms_max * 1000)

    def cut(self, source: str, target: str, *, one_way: bool = False) -> None:
        self.counters["cuts"] += 1
        self._trace(f"cut {source} -> {target}{'' if one_way else ' and back'}")
        way = self._by_name[source], self._by_name[target]
        self._cut.add(way)
        if not one_way:
            self._cut.add(way[::-1])

    def heal(self, source: str, target: str, *, one_way: bool = False) -> None:
        self._trace(f"heal {source} -> {target}{'' if one_way else ' and back'}")
        way = self._by_name[source], self._by_name[target]
        self._cut.discard(way)
        if not one_way:
            self._cut.discard(way[::-1])

    def heal_all(self) -> None:
        self._trace("heal all")
        self._cut.clear()

    def isolate(self, name: str, others: Sequence[str]) -> None:
        for other in others:
            self.cut(name, other)

    def leave_majority_ring(self, names: Sequence[str]) -> None:
        """Each node hears a majority, and no two hear the same one. With three nodes every way left is one-way."""
        heard = len(names) // 2 + 1
        for place, name in enumerate(names):
            first = place - (heard - 1) // 2
            window = {names[(first + step) % len(names)] for step in range(heard)}
            for other in names:
                if other not in window:
                    self.cut(other, name, one_way=True)

    def reset_connections(self, name: str, other: str) -> int:
        """As a firewall does that forgets them: both ends get a reset. How many there were."""
        host, remote = self._by_name[name], self._by_name[other]
        found = [each for each in host.connections if each.peer.host is remote]
        for connection in found:
            connection.arrive_reset()
            connection.peer.arrive_reset()
        self.counters["resets"] += len(found)
        self._trace(f"reset {len(found)} connections of {name} and {other}")
        return len(found)

    # --- used by connections

    def is_open(self, source: Host, target: Host) -> bool:
        """Whether a packet arrives that has left `source`, which may have lost its power since."""
        return target.has_power and (source, target) not in self._cut

    def delay_us(self, source: Host, target: Host) -> int:
        default = LOOPBACK_US if source is target else LATENCY_US
        return self.random.randint(*self._latency_us.get((source, target), default))

    def send_once(self, source: Host, target: Host, arrive: Callable[[], None]) -> Call:
        """A packet that nobody sends again."""

        def act() -> None:
            if self.is_open(source, target):
                arrive()

        delay_us = self.delay_us(source, target)
        return self.scheduler.call_after(delay_us, act) if self.is_open(source, target) else Call(act)

    def _trace(self, event: str) -> None:
        self.scheduler.trace.add(self.scheduler.now_us, "network", event)
