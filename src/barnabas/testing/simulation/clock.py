"""The clock of one node: its wall clock may be wrong, run fast and jump; its monotonic time is that of the loop."""

import asyncio
from collections.abc import Callable
from typing import Final

from barnabas.env import Timer
from barnabas.testing.clock import START_MS
from barnabas.testing.simulation.scheduler import Scheduler

WORK_US_MAX: Final = 200
"""Between two looks at the time in long work: a slice of three milliseconds is over after some thirty of them."""


class SimulatedClock:
    """An `env.Clock`."""

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self.skew_ms = 0
        """What the wall clock is ahead; negative: behind."""
        self.drift_ppm = 0
        """Microseconds that the wall clock gains in a second."""
        self._scheduler = scheduler
        self._random = scheduler.random_for(f"work on {name}")
        self._work_us = 0

    def jump(self, by_ms: int) -> None:
        """Set the wall clock, forward or back; timers are not affected."""
        self.skew_ms += by_ms

    def now_ms(self) -> int:
        passed_us = self._scheduler.now_us
        return START_MS + self.skew_ms + (passed_us + passed_us * self.drift_ppm // 1_000_000) // 1000

    def monotonic_ms(self) -> int:
        return self._scheduler.now_us // 1000

    def work_s(self) -> float:
        """A callback takes no virtual time, so this counts how often it is asked."""
        self._work_us += self._random.randint(1, WORK_US_MAX)
        return self._work_us / 1_000_000

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        return asyncio.get_running_loop().call_later(delay_ms / 1000, callback)

    async def sleep_ms(self, delay_ms: float) -> None:
        await asyncio.sleep(delay_ms / 1000)
