"""A broker on a simulated node: the real one, with its server, handlers, logs and metadata quorum.

Only what is a process of its own is left out: compaction runs in the broker, and there is no archiver.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from barnabas.node.broker_node import BrokerNode
from barnabas.testing.broker import TEST_PROPERTIES
from barnabas.testing.simulation.errors import NodeStopped
from barnabas.testing.simulation.node import SimulatedNode
from barnabas.testing.simulation.simulation import Simulation

PORT: Final = 9092
DATA: Final = "/data"


class SimulatedBroker:
    def __init__(
        self, simulation: Simulation, name: str = "broker", *, properties: Mapping[str, str] | None = None
    ) -> None:
        """`properties`: by Kafka's names; changes apply at the next start."""
        self.node: SimulatedNode = simulation.node(name, self._serve)
        self.properties = {**TEST_PROPERTIES, **(properties or {})}
        self.failure: Exception | None = None
        """Why the last process ended by itself, as after an error of its disk."""
        self._ready_start = 0
        """The start of the node whose process serves, or has served."""
        self._stop_asked: asyncio.Event | None = None

    @property
    def address(self) -> str:
        return f"{self.node.address}:{PORT}"

    async def start(self) -> None:
        """Returns when it serves; NodeStopped if it ended before that."""
        self.node.start()
        await self.wait_until_ready()

    async def wait_until_ready(self) -> None:
        start = self.node.starts
        while self._ready_start != start:
            if not self.node.is_running or self.node.starts != start:
                raise NodeStopped(f"{self.node.name} ended before it was ready")
            await self.node.next_change()

    async def stop(self) -> None:
        """As on SIGTERM: finish requests, write everything to disk, exit."""
        if self._stop_asked is None or not self.node.is_running:
            raise NodeStopped(f"{self.node.name} does not run")
        self.node.loop.call_soon(self._stop_asked.set)
        while self.node.is_running:
            await self.node.next_change()

    async def _serve(self, node: SimulatedNode) -> None:
        self.failure = None
        self._stop_asked = asyncio.Event()
        broker = BrokerNode(
            {
                **self.properties,
                "listeners": f"PLAINTEXT://0.0.0.0:{PORT}",
                "advertised.listeners": f"PLAINTEXT://{node.name}:{PORT}",
                "log.dirs": DATA,
            },
            clock=node.clock,
            disk=node.disk,
            workers=node.workers,
            rng=node.new_random(),
        )
        await broker.start()
        self._ready_start = node.starts
        node.report_change()
        stop = asyncio.ensure_future(self._stop_asked.wait())
        failure = asyncio.ensure_future(broker.failed())
        await asyncio.wait([stop, failure], return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        await broker.stop()
        if failure.done():
            self.failure = failure.result()
            node.simulation.counters["failed brokers"] += 1
        failure.cancel()
