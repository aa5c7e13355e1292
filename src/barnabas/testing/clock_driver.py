"""Advances a virtual clock for a broker in another thread: `advance` returns when everything that was due is done.

asyncio lets its selector wait only when no callback is ready. So the broker's loop gets a selector that reports when
the loop is idle, and `ClockDriver` takes the next step then: set the clock to the next timer, run it, and let the loop
run until it is idle again. No threads work beside the loop (`InlineWorkers`), so an idle loop means that everything is
done, files included.

Requests that clients have already sent are handled first. Requests that arrive while the clock is advanced are read
afterwards, so none of them is handled between two steps, and the result is the same in every run.

A broker has chores that run every few seconds, tens of thousands of times a week. So a long advance is made in leaps of
an eighth of the remaining time; only the last minutes go timer by timer. Before that a timer may run late, as after a
machine was suspended. No timer runs early, and none is skipped.
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
"""How often sockets are read before the clock is advanced: a client that never stops sending must not block it."""
EXACT_MS: Final = 10 * 60 * 1000
"""In the last part of an advance every timer runs at its own time; retention, for example, every five minutes."""
LEAPS: Final = 8


class IdleSelector(selectors.DefaultSelector):
    """Calls `on_idle` when the loop has nothing to run and, unless `holds_input`, no socket is ready."""

    def __init__(self) -> None:
        super().__init__()
        self.on_idle: Callable[[], None] | None = None
        self.holds_input = False
        self._reads = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.on_idle is None:
            self._reads = 0
            return super().select(timeout)
        if not self.holds_input:
            events = super().select(0)
            if events and self._reads < READS_MAX:
                self._reads += 1
                return events
        if timeout != 0:
            self.on_idle()
        return []


class ClockDriver:
    def __init__(self, clock: "VirtualClock", loop: asyncio.AbstractEventLoop, selector: IdleSelector) -> None:
        """From now on the timers of `clock` run on `loop`, and `advance` must be called from other threads."""
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
        self._selector.on_idle = self._on_idle

    def _on_idle(self) -> None:
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
        self._selector.on_idle = None
        self._selector.holds_input = False
        if moved is None:
            return
        if error is None:
            moved.set_result(None)
        else:
            moved.set_exception(error)

    def close(self) -> None:
        """Call it when the broker has stopped, on its thread, before the loop is closed."""
        self._clock.detach()
        self._finish(RuntimeError("the broker stopped while the clock was moved"))
