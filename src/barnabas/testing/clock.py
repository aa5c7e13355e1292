"""Virtual time: seven days pass in a millisecond, with everything in the same order in every run.

`advance` runs what is due, each callback at its own time. The callbacks of a `Broker(clock=...)` run in the broker's
thread (`clock_driver`). A test that has parts of a broker on its own event loop uses `elapse` instead, which lets the
loop run between callbacks, for code that awaits.
"""

import asyncio
import heapq
import time
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Protocol

START_MS = 1_750_000_000_000

# Iterations of the loop after each step. A callback that wakes a task that wakes another needs one for each.
TURNS = 20


class VirtualTimer:
    __slots__ = ("_callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self._callback = None

    def fire(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()

    @property
    def is_cancelled(self) -> bool:
        return self._callback is None


class Driver(Protocol):
    """The event loop, in another thread, on which a clock's timers run."""

    def advance(self, by_ms: int) -> None: ...

    def call_soon(self, callback: Callable[[], None]) -> None: ...


class VirtualClock:
    """An `env.Clock` that stands still until a test advances it."""

    def __init__(self, now_ms: int | None = None) -> None:
        """`now_ms`: the initial wall-clock time. By default a fixed time, or with a `Broker` the machine's time."""
        self._wall_ms = START_MS if now_ms is None else now_ms
        self._is_start_chosen = now_ms is not None
        self._monotonic_ms = 0
        self._heap: list[tuple[float, int, VirtualTimer]] = []
        self._order = count()
        self._driver: Driver | None = None

    def now_ms(self) -> int:
        return self._wall_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    work_s = staticmethod(time.perf_counter)
    """Of the machine: while the loop works, virtual time stands still."""

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> VirtualTimer:
        timer = VirtualTimer(callback)
        heapq.heappush(self._heap, (self._monotonic_ms + max(delay_ms, 0), next(self._order), timer))
        if delay_ms <= 0 and self._driver is not None:
            self._driver.call_soon(self._run_due)
        return timer

    async def sleep_ms(self, delay_ms: float) -> None:
        awake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_later(delay_ms, lambda: None if awake.done() else awake.set_result(None))
        try:
            await awake
        finally:
            timer.cancel()

    def set_wall_ms(self, now_ms: int) -> None:
        """Set the wall clock, as on a real machine; timeouts are not affected."""
        self._wall_ms = now_ms
        self._is_start_chosen = True

    def next_due_ms(self) -> float | None:
        """The monotonic time of the next timer, if there is one."""
        while self._heap and self._heap[0][2].is_cancelled:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def advance(self, by: int | timedelta) -> None:
        """Let this time pass (a number is milliseconds), and run everything that becomes due, in order.

        Returns when it is done. Callbacks may set new timers, which run as well if they become due.
        """
        by_ms = by // timedelta(milliseconds=1) if isinstance(by, timedelta) else by
        if by_ms < 0:
            raise ValueError(f"time cannot go back by {-by_ms} ms; to set the wall clock back, use set_wall_ms")
        if self._driver is not None:
            self._driver.advance(by_ms)
            return
        target_ms = self._monotonic_ms + by_ms
        while self.step(target_ms):
            pass

    async def elapse(self, by_ms: int) -> None:
        """As `advance`, but also let the tasks of the running loop run before, between and after the timers."""
        target_ms = self._monotonic_ms + by_ms
        await self.settle()
        while self.step(target_ms):
            await self.settle()
        await self.settle()

    async def settle(self) -> None:
        """Let runnable tasks run; no time passes."""
        for _ in range(TURNS):
            await asyncio.sleep(0)

    def step(self, target_ms: int) -> bool:
        """Run the next timer that is due by `target_ms`. False: there is none, and the clock is at `target_ms`."""
        due_ms = self.next_due_ms()
        if due_ms is None or due_ms > target_ms:
            self.move_to(target_ms)
            return False
        self.move_to(max(-int(-due_ms // 1), self._monotonic_ms))
        heapq.heappop(self._heap)[2].fire()
        return True

    def _run_due(self) -> None:
        while self.step(self._monotonic_ms):
            pass

    def move_to(self, monotonic_ms: int) -> None:
        """Set the time without running timers."""
        self._wall_ms += monotonic_ms - self._monotonic_ms
        self._monotonic_ms = monotonic_ms

    # --- for a broker in another thread

    def start_at_machine_time(self) -> None:
        """Unless another start was given, begin at the machine's time, which clients use for their timestamps."""
        if not self._is_start_chosen:
            self.set_wall_ms(time.time_ns() // 1_000_000)

    def attach(self, driver: Driver) -> None:
        if self._driver is not None:
            raise RuntimeError("this clock already drives a running broker: give each broker a VirtualClock of its own")
        self._driver = driver

    def detach(self) -> None:
        """The broker has stopped: drop its timers, and keep the time for the next start."""
        self._driver = None
        self._heap.clear()
