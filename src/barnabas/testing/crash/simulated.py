"""Brokers in this process, on a virtual clock and a disk in memory: thousands of crashes in a few minutes.

Endings: `kill` keeps everything that was written, `cut` is a power cut that loses everything unsynced, and `tear` one
that loses any part of it.
"""

import asyncio
import logging
import time
from contextlib import suppress
from random import Random
from typing import Any, Final, Literal

from barnabas.env import Disk, InlineWorkers
from barnabas.node.broker_node import BrokerNode
from barnabas.node.errors import StartError
from barnabas.testing.clock import VirtualClock
from barnabas.testing.crash.connection import Connection
from barnabas.testing.crash.running_broker import BrokerDied
from barnabas.testing.crash.verify import BrokenPromise
from barnabas.testing.crash.workload import PROPERTIES
from barnabas.testing.crashing_disk import CrashingDisk, CrashPoint
from barnabas.testing.disk import PowerCut, SimulatedDisk
from barnabas.wire.errors import KafkaError

Ending = Literal["kill", "cut", "tear"]

DATA: Final = "/data"
ANSWER_SECONDS_MAX: Final = 20.0
_TURNS_TO_END: Final = 100
_IDLE_TURNS: Final = 25
"""After this many iterations of the loop without an answer, virtual time has to pass."""
_IDLE_MS: Final = 20


class SimulatedHost:
    def __init__(self, ending: Ending, seed: int) -> None:
        self.data_dir = DATA
        self.lossy = ending != "kill"
        self.clock = VirtualClock()
        self._simulated = SimulatedDisk(now_ms=self._now_ms)
        self.disk: Disk = self._simulated
        self._ending = ending
        self._rng = Random(seed)
        self._crashing = self._new_disk(None)
        self._broker: SimulatedBroker | None = None
        self._defects = _Defects()

    @property
    def is_reached(self) -> bool:
        return self._crashing.is_reached

    @property
    def steps(self) -> dict[str, int]:
        """How often each step occurred, by name, since the last crash."""
        return dict(self._crashing.counts)

    async def start_broker(self, at: CrashPoint | None) -> "SimulatedBroker":
        if self._crashing.dead or at is not self._crashing.at:
            self._crashing = self._new_disk(at)
        self.clock = VirtualClock(self.clock.now_ms())
        asyncio.get_running_loop().set_exception_handler(self._defects.on_loop_exception)
        node = BrokerNode(
            {**PROPERTIES, "listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": DATA},
            clock=self.clock,
            disk=self._crashing,
            workers=InlineWorkers(),
            rng=Random(self._rng.getrandbits(64)),
        )
        logging.getLogger("barnabas").addHandler(self._defects)
        self._broker = broker = SimulatedBroker(node, self._crashing, self.clock)
        try:
            await broker.start()
        except PowerCut as error:
            raise BrokerDied("at its start") from error
        except StartError as error:
            if not self.is_reached:
                raise
            self.make_room()
            raise BrokerDied(str(error)) from error
        return broker

    async def stop(self) -> None:
        broker, self._broker = self._broker, None
        assert broker is not None
        try:
            await broker.stop()
        except (PowerCut, BrokerDied) as error:
            self._broker = broker
            raise BrokerDied("at its stop") from error
        await self._sweep(broker)

    async def end_broker(self) -> None:
        if self._broker is not None:
            broker, self._broker = self._broker, None
            if broker.has_failed and not self._crashing.dead:
                await broker.stop_failed()
            self._crashing.dead = True
            await broker.abandon()
            await self._sweep(broker)
        if self._ending == "kill":
            self._simulated.kill()
        else:
            self._simulated.crash(self._rng if self._ending == "tear" else None)

    def make_room(self) -> None:
        self._crashing.make_room()

    async def _sweep(self, broker: "SimulatedBroker") -> None:
        broker.disconnect()
        for _ in range(_TURNS_TO_END):
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.sleep(0)
            if not tasks:
                break
        logging.getLogger("barnabas").removeHandler(self._defects)
        if self._defects.found:
            raise BrokenPromise(f"the broker logged a defect: {self._defects.found[0]}")

    def _now_ms(self) -> int:
        return self.clock.now_ms()

    def _new_disk(self, at: CrashPoint | None) -> CrashingDisk:
        return CrashingDisk(self._simulated, at=at, die=_power_cut)


class SimulatedBroker:
    def __init__(self, node: BrokerNode, disk: CrashingDisk, clock: VirtualClock) -> None:
        self._node = node
        self._disk = disk
        self._clock = clock
        self._connection: Connection | None = None
        self._failure: asyncio.Task[Exception] | None = None

    @property
    def has_failed(self) -> bool:
        return self._failure is not None and self._failure.done()

    async def start(self) -> None:
        await self._until_done(asyncio.ensure_future(self._node.start()))
        self._failure = asyncio.ensure_future(self._node.failed())
        self._connection = await Connection.open(self._node.port)

    async def call(self, api_name: str, version: int, request: object) -> Any:
        assert self._connection is not None
        try:
            return await self._until_done(asyncio.ensure_future(self._connection.call(api_name, version, request)))
        except ConnectionError as error:
            self._check()
            raise BrokenPromise(f"the broker is running, but closed the connection during {api_name}") from error

    async def pass_ms(self, duration_ms: int) -> None:
        await self._clock.elapse(duration_ms)
        self._check()

    async def stop(self) -> None:
        self.disconnect()
        await self._until_done(asyncio.ensure_future(self._node.stop()))

    async def stop_failed(self) -> None:
        """As `serve` does when the broker reports that it cannot continue."""
        self.disconnect()
        with suppress(PowerCut, BrokerDied):
            await self._until_done(asyncio.ensure_future(self._node.stop()))

    async def abandon(self) -> None:
        """The process has ended: its sockets are closed, nothing else happens."""
        self.disconnect()
        for _, listener in self._node._listeners:
            listener.stop_accepting()
            for connection in list(listener._connections):
                connection.transport.abort()

    def disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _until_done(self, task: "asyncio.Future[Any]") -> Any:
        """Runs what is due now; lets time pass only if there is no answer without it."""
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        turns = 0
        while not task.done():
            turns += 1
            for _ in range(4):
                await asyncio.sleep(0)
                if task.done():
                    break
            else:
                self._clock.advance(0 if turns < _IDLE_TURNS else _IDLE_MS)
            if not task.done() and self._disk.dead:
                task.cancel()
                raise BrokerDied("at the crash point")
            if time.monotonic() > deadline:
                task.cancel()
                raise BrokenPromise(f"no answer after {ANSWER_SECONDS_MAX:.0f} s")
        return task.result()

    def _check(self) -> None:
        if self._disk.dead or self.has_failed:
            raise BrokerDied("at the crash point" if self._disk.dead else "it reported that it cannot continue")


class _Defects(logging.Handler):
    """Collects log messages that a broker must never write, whatever its disk does."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        if "defect" in text or (error is not None and not isinstance(error, (OSError, KafkaError, PowerCut))):
            self.found.append(f"{text}: {error}")

    def on_loop_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, (PowerCut, ConnectionError)):
            self.found.append(f"{context.get('message')}: {error!r}")


def _power_cut() -> None:
    raise PowerCut
