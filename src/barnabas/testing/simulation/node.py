"""A machine of a simulation: an address, a clock, a disk, and the process that runs on it.

A process is one loop. It ends by itself, with `kill`, or with the power. What belongs to it ends with it: its tasks and
timers, its connections, the calls that its workers had not carried out. The disk stays, and keeps what it would keep.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.testing.simulation.clock import SimulatedClock
from barnabas.testing.simulation.disk import NodeDisk
from barnabas.testing.simulation.errors import NodeStopped
from barnabas.testing.simulation.loop import SimulatedLoop
from barnabas.testing.simulation.network import Host, Network
from barnabas.testing.simulation.workers import DiskSpeed, SimulatedWorkers

if TYPE_CHECKING:
    from barnabas.testing.simulation.simulation import Simulation

T = TypeVar("T")
Service = Callable[["SimulatedNode"], Coroutine[Any, Any, None]]


class SimulatedNode:
    def __init__(self, simulation: "Simulation", name: str, service: Service | None) -> None:
        """`service`: what `start` runs, as a machine starts its services; a node without one only runs calls."""
        self.simulation = simulation
        self.name = name
        self.service = service
        self.network: Network = simulation.network
        self.host: Host = simulation.network.add_host(name)
        self.clock = SimulatedClock(simulation.scheduler, name)
        self.disk_speed = DiskSpeed()
        self._disk_class = NodeDisk
        self.disk = self._new_disk()
        self.starts = 0
        self.on_power_cut: list[Callable[[], None]] = []
        """Called when the power fails, whoever cut it."""
        self._random: Random = simulation.scheduler.random_for(f"node {name}")
        self._loop: SimulatedLoop | None = None
        self._is_paused = False
        self._serving: asyncio.Task[None] | None = None
        self._callers: dict[asyncio.Future[Any], None] = {}
        """Futures of other nodes' loops, which wait for something that runs here."""
        self._watching: list[asyncio.Future[None]] = []

    @property
    def address(self) -> str:
        return self.host.address

    @property
    def is_running(self) -> bool:
        return self._loop is not None and not self._loop.has_ended

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    @property
    def loop(self) -> SimulatedLoop:
        """Of the running process."""
        if self._loop is None or self._loop.has_ended:
            raise NodeStopped(f"{self.name} does not run; start it first")
        return self._loop

    def new_random(self) -> Random:
        """Randomness for one process: another one after each start."""
        return Random(self._random.getrandbits(64))

    # --- life

    def start(self) -> None:
        """Switch it on if it has no power, and start its process."""
        if self.is_running:
            raise RuntimeError(f"{self.name} is running already")
        self.host.has_power = True
        self.starts += 1
        self._trace("start")
        loop = SimulatedLoop(  # type: ignore[abstract] # what it leaves out raises NotImplementedError
            self.simulation.scheduler, self, shuffles_tasks=self.simulation.shuffles_tasks
        )
        self._loop = loop
        self._is_paused = False
        self.workers = SimulatedWorkers(
            loop, self.simulation.scheduler, self.new_random(), self.disk_speed, lambda: not loop.has_ended
        )
        if self.service is not None:
            self._serving = loop.create_task(self._serve(self.service))

    async def _serve(self, service: Service) -> None:
        loop = asyncio.get_running_loop()
        try:
            await service(self)
        except Exception as error:
            if loop.is_closed():
                return
            self.on_unhandled(f"the service of {self.name} failed", error)
        self.simulation.after_this_step(self.end)

    def kill(self) -> None:
        """SIGKILL: peers get a reset, and the disk keeps everything that was written."""
        if self.is_running:
            self.simulation.counters["kills"] += 1
            self._end_process("kill", with_reset=True)
            self.disk.kill()

    def power_cut(self) -> None:
        """Peers get nothing, and the disk loses any part of what was not synced."""
        if not self.host.has_power:
            return
        self.simulation.counters["power cuts"] += 1
        self.host.has_power = False
        self.host.boots += 1
        for connection in list(self.host.connections):
            connection.lose_power()
        self._end_process("power cut", with_reset=False)
        self.disk.crash(self._random)
        for notify in self.on_power_cut:
            notify()

    def power_cut_at_change(self, changes: int) -> None:
        """The power fails at the n-th change of the disk from now, possibly in the middle of a job."""
        self.disk.power_cut_at = self.disk.operations + changes

    def use_disk(self, disk_class: type[NodeDisk]) -> None:
        """Put in an empty disk of this kind, as one that is broken on purpose; only while the node does not run."""
        if self.is_running:
            raise RuntimeError(f"give {self.name} its disk before it starts")
        self._disk_class = disk_class
        self.disk = self._new_disk()

    def lose_disk(self) -> None:
        """Put in an empty disk; only while the node does not run."""
        if self.is_running:
            raise RuntimeError(f"kill {self.name} first: a process does not survive the loss of its disk")
        self.simulation.counters["lost disks"] += 1
        self._trace("lose disk")
        self.disk = self._new_disk()

    def pause(self) -> None:
        """SIGSTOP: its kernel takes bytes and connections, and nothing answers."""
        if self.is_running and not self._is_paused:
            self.simulation.counters["pauses"] += 1
            self._trace("pause")
            self._is_paused = True
            self.loop.pause()

    def resume(self) -> None:
        if self.is_running and self._is_paused:
            self._trace("resume")
            self._is_paused = False
            self.loop.resume()

    def end(self) -> None:
        """Exit: its connections are closed, not reset."""
        self._end_process("end", with_reset=False)

    def _end_process(self, how: str, *, with_reset: bool) -> None:
        loop = self._loop
        if loop is None or loop.has_ended:
            return
        self._trace(how)
        loop.end()
        self.host.ports.clear()
        for connection in list(self.host.connections):
            connection.end_process(with_reset=with_reset)
        self._serving = None
        callers, self._callers = self._callers, {}
        for caller in callers:
            if not caller.done():
                caller.set_exception(NodeStopped(f"{self.name} stopped ({how})"))
        self.report_change()
        if loop.is_running():  # its own code has ended it, and is still on the stack
            self.simulation.after_this_step(loop.drop_tasks)
        else:
            loop.drop_tasks()

    def _new_disk(self) -> NodeDisk:
        return self._disk_class(
            now_ms=self.clock.now_ms,
            trace=lambda event: self._trace(f"disk: {event}"),
            is_in_use=lambda: self.is_running,
            on_power_cut=self.power_cut,
        )

    def report_change(self) -> None:
        """Something that others may wait for has happened here."""
        watching, self._watching = self._watching, []
        for watcher in watching:
            if not watcher.done():
                watcher.set_result(None)

    async def next_change(self) -> None:
        """Wait, on another node, until its process ends or calls `report_change`."""
        watcher: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._watching.append(watcher)
        await watcher

    # --- calls from other nodes

    async def run(self, main: Callable[[], Awaitable[T]]) -> T:
        """Run `main` on this node, and wait for it on another. NodeStopped: its process ended first."""
        caller: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        loop = self.loop
        self._callers[caller] = None
        task = loop.create_task(self._run_for(caller, main))
        try:
            return await caller
        except asyncio.CancelledError:
            if not loop.has_ended:
                loop.call_soon(task.cancel)
            raise
        finally:
            self._callers.pop(caller, None)

    async def _run_for(self, caller: "asyncio.Future[T]", main: Callable[[], Awaitable[T]]) -> None:
        try:
            value = await main()
        except asyncio.CancelledError:
            caller.cancel()
            raise
        except Exception as error:
            if caller.done():
                raise
            caller.set_exception(error)
        else:
            if not caller.done():
                caller.set_result(value)

    # --- what the loop needs of its process

    def run_blocking(self, call: Callable[[], T]) -> "asyncio.Future[T]":
        return self.workers.start(call)

    def on_unhandled(self, message: str, error: BaseException | None) -> None:
        self.simulation.on_unhandled(f"{self.name}: {message}", error)

    def _trace(self, event: str) -> None:
        scheduler = self.simulation.scheduler
        scheduler.trace.add(scheduler.now_us, self.name, event)
