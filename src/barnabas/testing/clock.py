"""Virtual time: seven days pass in a millisecond, and always in the same order.

`advance` runs what is due, each callback at its own time. `elapse` also lets the event loop run between them, for code
that awaits.
"""

import asyncio
import heapq
from collections.abc import Callable
from itertools import count

START_MS = 1_750_000_000_000

# How often the loop turns after each step. A callback that wakes a task that wakes another needs one turn for each.
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


class VirtualClock:
    """An `env.Clock` that stands still until it is told to move."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self._wall_ms = now_ms
        self._monotonic_ms = 0
        self._heap: list[tuple[float, int, VirtualTimer]] = []
        self._order = count()

    def now_ms(self) -> int:
        return self._wall_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> VirtualTimer:
        timer = VirtualTimer(callback)
        heapq.heappush(self._heap, (self._monotonic_ms + max(delay_ms, 0), next(self._order), timer))
        return timer

    async def sleep_ms(self, delay_ms: float) -> None:
        awake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_later(delay_ms, lambda: None if awake.done() else awake.set_result(None))
        try:
            await awake
        finally:
            timer.cancel()

    def set_wall_ms(self, now_ms: int) -> None:
        """Somebody sets the machine's clock: timeouts do not notice."""
        self._wall_ms = now_ms

    def next_due_ms(self) -> float | None:
        """The monotonic time of the next timer, if there is one."""
        while self._heap and self._heap[0][2].is_cancelled:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def advance(self, by_ms: int) -> None:
        """Let time pass, and everything happen that is due, in order. Callbacks may set new timers."""
        target_ms = self._monotonic_ms + by_ms
        while self._step(target_ms):
            pass
        self._move_to(target_ms)

    async def elapse(self, by_ms: int) -> None:
        """As `advance`, and let tasks run before, between and after what is due."""
        target_ms = self._monotonic_ms + by_ms
        await self.settle()
        while self._step(target_ms):
            await self.settle()
        self._move_to(target_ms)
        await self.settle()

    async def settle(self) -> None:
        """Let tasks that can run do so; no time passes."""
        for _ in range(TURNS):
            await asyncio.sleep(0)

    def _step(self, target_ms: int) -> bool:
        due_ms = self.next_due_ms()
        if due_ms is None or due_ms > target_ms:
            return False
        self._move_to(max(-int(-due_ms // 1), self._monotonic_ms))
        heapq.heappop(self._heap)[2].fire()
        return True

    def _move_to(self, monotonic_ms: int) -> None:
        self._wall_ms += monotonic_ms - self._monotonic_ms
        self._monotonic_ms = monotonic_ms
