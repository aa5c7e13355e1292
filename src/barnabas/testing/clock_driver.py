"""Moves a virtual clock for a broker that runs in another thread: `advance` returns once what was due is done.

How does the other thread know that it is done? asyncio lets its selector wait only when no callback is ready. So the
broker's loop gets a selector that reports this moment, and `ClockDriver` takes the next step then: set the clock to the
next timer, run it, and let the loop work until it is quiet again. No thread works beside the loop (`InlineWorkers`), so
a quiet loop means that everything is done, files included.

Requests that clients had sent before are answered first. What they send while the clock moves is read afterwards:
nothing of it falls between two steps, and the outcome is the same in every run.

A broker has chores that run every few seconds, tens of thousands of times a week. So the clock goes a long way in
leaps, each an eighth of what is left, and only the last minutes timer by timer. Before these minutes a timer may run
late, as on a machine that was asleep. It never runs early, and none is left out.
"""

import asyncio
import selectors
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from barnabas.testing.clock import VirtualClock

READS_MAX: Final = 1_000
"""How often sockets are read before the clock moves: a client that never pauses must not hold it back."""
EXACT_MS: Final = 10 * 60 * 1000
"""In the last part of an advance every timer runs at its own time. Retention, for one, comes every five minutes."""
LEAPS: Final = 8


class QuietSelector(selectors.DefaultSelector):
    """Calls `on_quiet` when the loop has nothing to run and, unless `holds_input`, no socket has anything to read."""

    def __init__(self) -> None:
        super().__init__()
        self.on_quiet: Callable[[], None] | None = None
        self.holds_input = False
        self._reads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.on_quiet is None:
            self._reads = 0
            return super().select(timeout)
        if not self.holds_input:
            events = super().select(0)
            if events and self._reads < READS_MAX:
                self._reads += 1
                return events
        if timeout != 0:
            self.on_quiet()
        return []


class ClockDriver:
    def __init__(self, clock: "VirtualClock", loop: asyncio.AbstractEventLoop, selector: QuietSelector) -> None:
        """From now on `clock` belongs to `loop`: its timers run there, and `advance` is for other threads."""
        self._clock = clock
        self._loop = loop
        self._selector = selector
        self._one_at_a_time = threading.Lock()
        self._moved: Future[None] | None = None
        clock.attach(self)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon(callback)

    def advance(self, by_ms: int) -> None:
        with self._one_at_a_time:
            moved: Future[None] = Future()
            self._loop.call_soon_threadsafe(self._begin, by_ms, moved)
            moved.result()

    def _begin(self, by_ms: int, moved: "Future[None]") -> None:
        self._moved = moved
        self._target_ms = self._clock.monotonic_ms() + by_ms
        self._selector.on_quiet = self._on_quiet

    def _on_quiet(self) -> None:
        self._selector.holds_input = True
        self._loop.call_soon(self._step)

    def _step(self) -> None:
        clock = self._clock
        if self._moved is None or clock.step(clock.monotonic_ms()):
            return
        left_ms = self._target_ms - clock.monotonic_ms()
        leap_ms = clock.monotonic_ms() + max(0, left_ms - EXACT_MS) // LEAPS
        due_ms = clock.next_due_ms()
        if due_ms is not None and due_ms < leap_ms:
            clock.move_to(leap_ms)
            clock.step(leap_ms)
        elif not clock.step(self._target_ms):
            self._finish(None)

    def _finish(self, error: Exception | None) -> None:
        moved, self._moved = self._moved, None
        self._selector.on_quiet = None
        self._selector.holds_input = False
        if moved is None:
            return
        if error is None:
            moved.set_result(None)
        else:
            moved.set_exception(error)

    def close(self) -> None:
        """The broker has stopped. On its thread, while the loop is still open."""
        self._clock.detach()
        self._finish(RuntimeError("the broker stopped while the clock was moved"))
