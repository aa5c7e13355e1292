"""Virtual time, and the one place that chooses what happens next: every choice comes from the seed.

A step runs one callback of one loop, chosen among all loops with something to run. While nothing is ready, time jumps
to the next event: a timer, or bytes that arrive. Events of the same microsecond come in a seeded order.

A callback takes a microsecond. So code that waits in a loop without a timer cannot stop the time.
"""

import heapq
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Final, Protocol

from barnabas.testing.simulation.trace import Trace

CALLBACK_US: Final = 1


class Event(Protocol):
    def cancelled(self) -> bool: ...

    def fire(self) -> None: ...


class Runnable(Protocol):
    def run_next(self) -> bool:
        """Run one callback; whether there are more."""


class Call:
    """An event that belongs to no loop."""

    __slots__ = ("_callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self._callback = None

    def cancelled(self) -> bool:
        return self._callback is None

    def fire(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class Scheduler:
    def __init__(self, seed: int, trace: Trace) -> None:
        self.seed = seed
        self.trace = trace
        self.now_us = 0
        self._random = self.random_for("scheduler")
        self._events: list[tuple[int, int, int, Event]] = []
        self._order = count()
        self._ready: list[Runnable] = []

    def random_for(self, purpose: str) -> Random:
        """A stream of its own for each purpose: one more draw for one purpose leaves the others as they are."""
        return Random(f"{self.seed}/{purpose}")

    def add(self, when_us: int, event: Event) -> None:
        heapq.heappush(self._events, (when_us, self._random.getrandbits(32), next(self._order), event))

    def call_at(self, when_us: int, callback: Callable[[], None]) -> Call:
        call = Call(callback)
        self.add(when_us, call)
        return call

    def call_after(self, delay_us: int, callback: Callable[[], None]) -> Call:
        return self.call_at(self.now_us + delay_us, callback)

    def make_ready(self, loop: Runnable) -> None:
        """The loop has something to run. Call it once, until `run_next` has returned False."""
        self._ready.append(loop)

    def remove(self, loop: Runnable) -> None:
        self._ready.remove(loop)

    def step(self) -> bool:
        """Run one callback, or the next event. False: there is neither."""
        self._fire_due()
        if self._ready:
            self._run_one()
            return True
        while self._events:
            when_us, _, _, event = heapq.heappop(self._events)
            if not event.cancelled():
                self.now_us = max(self.now_us, when_us)
                event.fire()
                return True
        return False

    def _fire_due(self) -> None:
        while self._events and self._events[0][0] <= self.now_us:
            event = heapq.heappop(self._events)[3]
            if not event.cancelled():
                event.fire()

    def _run_one(self) -> None:
        ready = self._ready
        loop = ready[self._random.randrange(len(ready))]
        self.now_us += CALLBACK_US
        if not loop.run_next() and loop in ready:
            ready.remove(loop)
