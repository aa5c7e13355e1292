"""A simulated world: nodes, a network, virtual time. Everything that happens follows from the seed.

    simulation = Simulation(seed=7)
    simulation.run(scenario(simulation))

The scenario is a coroutine on a node of its own, `driver`, which no fault reaches. It starts nodes, runs code on them,
and breaks them.
"""

import gc
import logging
import secrets
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from barnabas.testing.disk import PowerCut
from barnabas.testing.simulation.errors import (
    Deadlock,
    ProcessEnded,
    TimeLimitReached,
    UnhandledException,
)
from barnabas.testing.simulation.network import Network
from barnabas.testing.simulation.node import Service, SimulatedNode
from barnabas.testing.simulation.scheduler import Scheduler
from barnabas.testing.simulation.trace import Trace

T = TypeVar("T")

LIMIT_S: Final = 24 * 3600.0
_DRIVER: Final = "driver"
_LINES_SHOWN: Final = 20


class Simulation:
    def __init__(self, seed: int | None = None, *, shuffles_tasks: bool = True, keep_trace: bool = False) -> None:
        """Without a seed, a new one; a failure names it."""
        self.seed = secrets.randbits(32) if seed is None else seed
        self.shuffles_tasks = shuffles_tasks
        self.trace = Trace(keep_all=keep_trace)
        self.scheduler = Scheduler(self.seed, self.trace)
        self.counters: Counter[str] = Counter()
        """Faults that took place, and what they caused: kills, power cuts, pauses, cuts, lost packets, and others."""
        self.network = Network(self.scheduler, self.counters)
        self.nodes: dict[str, SimulatedNode] = {}
        self._after_step: list[Callable[[], None]] = []
        self._unhandled: list[tuple[str, BaseException | None]] = []
        self._driver = SimulatedNode(self, _DRIVER, None)

    def node(self, name: str, service: Service | None = None) -> SimulatedNode:
        """Add a machine. With a `service`, `start()` starts it; without one, it runs from now on, for calls."""
        node = self.nodes[name] = SimulatedNode(self, name, service)
        if service is None:
            node.start()
        return node

    @property
    def now_ms(self) -> int:
        """Virtual time since the start of the simulation."""
        return self.scheduler.now_us // 1000

    def run(self, scenario: Coroutine[Any, Any, T], *, limit_s: float = LIMIT_S) -> T:
        """Run until the scenario returns. A simulation runs once: all nodes end with it."""
        log = _DefectLog(self)
        logging.getLogger("barnabas").addHandler(log)
        try:
            return self._run(scenario, limit_s)
        except BaseException as error:
            error.add_note(self._describe())
            raise
        finally:
            logging.getLogger("barnabas").removeHandler(log)

    def _run(self, scenario: Coroutine[Any, Any, T], limit_s: float) -> T:
        self._driver.start()
        task = self._driver.loop.create_task(scenario)
        limit_us = self.scheduler.now_us + round(limit_s * 1_000_000)
        try:
            while not task.done():
                if not self.scheduler.step():
                    raise Deadlock(f"nothing is ready and no timer is set; waiting: {self._waiting()}")
                self._finish_step()
                if self.scheduler.now_us > limit_us:
                    raise TimeLimitReached(f"not over after {limit_s:g} s of virtual time; waiting: {self._waiting()}")
        finally:
            for node in [*self.nodes.values(), self._driver]:
                node.end()
            self._run_after_step()
        result = task.result()
        gc.collect()  # an exception that nobody has asked for is reported when its task is freed
        self._raise_unhandled()
        return result

    def _finish_step(self) -> None:
        if self._after_step:
            self._run_after_step()
        if self._unhandled:
            self._raise_unhandled()

    def _run_after_step(self) -> None:
        while self._after_step:
            actions, self._after_step = self._after_step, []
            for act in actions:
                act()

    def after_this_step(self, act: Callable[[], None]) -> None:
        """When no code of any node is running."""
        self._after_step.append(act)

    def on_unhandled(self, message: str, error: BaseException | None) -> None:
        if not isinstance(error, (PowerCut, ProcessEnded)):
            self._unhandled.append((message, error))

    def _raise_unhandled(self) -> None:
        if self._unhandled:
            message, error = self._unhandled[0]
            self._unhandled.clear()
            raise UnhandledException(f"{message}: {error!r}") from error

    def _waiting(self) -> str:
        found = []
        for node in [self._driver, *self.nodes.values()]:
            if node.is_running:
                found += [
                    f"{task} on {node.name}{' (paused)' * node.is_paused}" for task in node.loop.unfinished_tasks()
                ]
        return ", ".join(found) or "nothing"

    def _describe(self) -> str:
        faults = ", ".join(f"{count} {name}" for name, count in sorted(self.counters.items())) or "no faults"
        last = "\n  ".join(list(self.trace.lines)[-_LINES_SHOWN:])
        passed = f"{self.now_ms / 1000:.3f} s of virtual time"
        return f"seed {self.seed}, after {passed}, with {faults}; the last steps:\n  {last}"


class _DefectLog(logging.Handler):
    """A broker that logs a defect of its own has failed, even if no client notices."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(logging.ERROR)
        self._simulation = simulation

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        if "defect" in text and not isinstance(error, (PowerCut, ProcessEnded)):
            self._simulation.on_unhandled(text, error)
