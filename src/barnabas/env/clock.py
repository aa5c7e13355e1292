"""Time as a parameter, so that a test of seven days of retention takes a millisecond."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall-clock time in milliseconds since the epoch: for records and retention."""

    def monotonic_ms(self) -> int:
        """Never goes back: for timeouts."""

    def work_s(self) -> float:
        """Seconds, for measuring how long the loop works at a time: a simulation makes them up."""

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        """Run `callback` on the loop once `delay_ms` have passed."""

    async def sleep_ms(self, delay_ms: float) -> None: ...


class SystemClock:
    """The machine's clock; timers belong to the running loop."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    work_s = staticmethod(time.perf_counter)

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(delay_ms / 1000, callback)

    async def sleep_ms(self, delay_ms: float) -> None:
        await asyncio.sleep(delay_ms / 1000)
