"""One run of the workload: topics, producers, readers and a group on two client nodes, and faults from the seed."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from barnabas.testing.simulation.broker import SimulatedBroker
from barnabas.testing.simulation.faults import FaultPlan, Kind, start_if_stopped
from barnabas.testing.simulation.node import SimulatedNode
from barnabas.testing.simulation.simulation import Simulation
from barnabas.testing.simulation.workload.history import BrokenPromise, History, Place
from barnabas.testing.simulation.workload.member import Member
from barnabas.testing.simulation.workload.producer import Producer
from barnabas.testing.simulation.workload.reader import Reader
from barnabas.testing.simulation.workload.session import Session, Unavailable, check, pause
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

DURATION_MS: Final = 30_000
FAULTS_MIN: Final = 2
"""With fewer faults a seed has proved nothing, and does not count."""
RECOVERY_S: Final = 300.0
"""Of virtual time after the last fault, for clients and the broker to come to rest."""
CLIENTS: Final = ("client-1", "client-2")
PARTITIONS: Final = 2
TOPICS: Final = {
    "ledger": {"internal.segment.bytes": "20000"},
    "vault": {"internal.segment.bytes": "20000", "flush.messages": "1"},
}
SINGLE_BROKER_KINDS: Final[tuple[Kind, ...]] = (
    "kill", "power cut", "power cut in a write", "pause", "cut", "cut one way", "reset",
    "slow disk", "full disk", "clock jump",
)  # fmt: skip
"""A lost disk takes everything with it while there is one replica."""


@dataclass(frozen=True, slots=True)
class Outcome:
    seed: int
    digest: str
    steps: int
    virtual_s: float
    counters: dict[str, int]
    """Faults, and what the clients have seen."""

    @property
    def counts(self) -> bool:
        return self.counters.get("faults", 0) >= FAULTS_MIN


BrokerFactory = Callable[[Simulation], SimulatedBroker]


def run_workload(
    seed: int,
    *,
    duration_ms: int = DURATION_MS,
    kinds: Sequence[Kind] = SINGLE_BROKER_KINDS,
    keep_trace: bool = False,
    make_broker: BrokerFactory = SimulatedBroker,
) -> tuple[Outcome, Simulation]:
    """BrokenPromise or another SimulationError, with the plan in its notes, if anything is wrong."""
    simulation = Simulation(seed, keep_trace=keep_trace)
    broker = make_broker(simulation)
    plan = FaultPlan.draw(seed, nodes=[broker.node.name], peers=CLIENTS, kinds=kinds, duration_ms=duration_ms)
    workload = Workload(simulation, broker, duration_ms)
    try:
        simulation.run(workload.run(plan), limit_s=duration_ms / 1000 + RECOVERY_S)
    except BaseException as error:
        error.add_note(str(plan))
        raise
    counters = {**simulation.counters, **workload.history.counts}
    digest, count = simulation.trace.digest, simulation.trace.count
    return Outcome(seed, digest, count, simulation.now_ms / 1000, counters), simulation


class Workload:
    def __init__(self, simulation: Simulation, broker: SimulatedBroker, duration_ms: int) -> None:
        self._simulation = simulation
        self._broker = broker
        self._duration_ms = duration_ms
        self._clients = [simulation.node(name) for name in CLIENTS]
        self._places: list[Place] = [(topic, index) for topic in TOPICS for index in range(PARTITIONS)]
        self.history = History({place: "flush.messages" in TOPICS[place[0]] for place in self._places})

    async def run(self, plan: FaultPlan) -> None:
        self._broker.node.on_power_cut.append(self.history.on_power_cut)
        await self._broker.start()
        await self._clients[0].run(self._create_topics)
        loads = [asyncio.ensure_future(node.run(self._load_of(node))) for node in self._clients]
        faults = asyncio.ensure_future(plan.inject(self._simulation))
        restarts = asyncio.ensure_future(self._restart_failed())
        try:
            await asyncio.gather(faults, *loads)
            start_if_stopped(self._broker.node)
            await self._clients[0].run(self._verify)
        finally:
            for each in (faults, restarts, *loads):
                each.cancel()

    async def _restart_failed(self) -> None:
        """A broker that ends by itself, as after an error of its disk, is started again as a service manager does."""
        while True:
            await asyncio.sleep(1)
            if self._broker.failure is not None and not self._broker.node.is_running:
                start_if_stopped(self._broker.node)

    async def _create_topics(self) -> None:
        session = Session(self._broker.node.name, "creator")
        for name, config in TOPICS.items():
            await self._create_topic(session, name, config)
        session.close()

    async def _create_topic(self, session: Session, name: str, config: dict[str, str]) -> None:
        configs = tuple(CreatableTopicConfig(name=key, value=value) for key, value in config.items())
        topic = CreatableTopic(name=name, num_partitions=PARTITIONS, replication_factor=1, configs=configs)
        while True:
            try:
                answer = await session.call("create_topics", 7, CreateTopicsRequest(topics=(topic,)))
                (result,) = answer.topics
                if result.error_code != ErrorCode.topic_already_exists:
                    check(result.error_code)
            except Unavailable:
                await pause()
            else:
                return

    def _load_of(self, node: SimulatedNode) -> Callable[[], "asyncio.Future[list[None]]"]:
        host, history = self._broker.node.name, self.history
        producers = [Producer(node, host, f"p-{node.name}-{t}-{i}", (t, i), history) for t, i in self._places]
        readers = [
            Reader(node, Session(host, "reader"), f"r-{node.name}-{place}", place, history) for place in self._places
        ]
        member = Member(node, host, f"m-{node.name}", "group", self._places, history)
        clients: list[Producer | Reader | Member] = [*producers, *readers, member]
        return lambda: asyncio.gather(*(each.run(self._duration_ms) for each in clients))

    async def _verify(self) -> None:
        """Read everything once more."""
        session = Session(self._broker.node.name, "verifier")
        for place in self._places:
            reader = Reader(self._clients[0], session, f"verifier of {place}", place, self.history)
            await reader.read_all()
            acknowledged_end = self.history.partitions[place].acknowledged_end
            if reader.high_watermark < acknowledged_end:
                raise BrokenPromise(f"{place} ends at {reader.high_watermark}, acknowledged are {acknowledged_end}")
            self.history.check_complete(place, reader.found)
        session.close()
