"""The workers of one process: a call takes effect later, and its result comes later still.

A call runs in one piece, at a seeded moment between its begin and its end. So what the loop writes meanwhile may or may
not be covered by a sync, as with threads. A kill before that moment means that the call never happened; one after it,
that it did and nobody knows.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from typing import Final, TypeVar

from barnabas.testing.disk import PowerCut
from barnabas.testing.simulation.errors import ProcessEnded
from barnabas.testing.simulation.scheduler import Scheduler

T = TypeVar("T")

DURATION_US: Final = (50, 4_000)
"""From a read of cached bytes to a sync on a good disk."""


class DiskSpeed:
    """Of a node: it stays when the process ends."""

    def __init__(self) -> None:
        self.slowness = 1
        """A factor: 1 is normal, 1,000 a disk that hangs for seconds."""


class SimulatedWorkers:
    """An `env.Workers`."""

    is_inline = True

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        scheduler: Scheduler,
        random: Random,
        speed: DiskSpeed,
        is_running: Callable[[], bool],
    ) -> None:
        self._loop = loop
        self._scheduler = scheduler
        self._random = random
        self._speed = speed
        self._is_running = is_running

    def run(self, call: Callable[[], T]) -> Awaitable[T]:
        return self.start(call)

    def start(self, call: Callable[[], T]) -> "asyncio.Future[T]":
        result: asyncio.Future[T] = self._loop.create_future()
        duration_us = self._random.randint(*DURATION_US) * self._speed.slowness
        effect_us = self._random.randint(0, duration_us)

        def act() -> None:
            if not self._is_running():
                return
            try:
                value = call()
            except Exception as error:
                finish: Callable[[], None] = partial(result.set_exception, error)
            except (PowerCut, ProcessEnded):
                return  # the node has ended meanwhile, and nobody waits any more
            else:
                finish = partial(result.set_result, value)
            self._scheduler.call_after(duration_us - effect_us, lambda: None if result.done() else finish())

        self._scheduler.call_after(effect_us, act)
        return result

    def close(self) -> None:
        """Nothing to wait for: a process that is stopping has awaited its calls."""
