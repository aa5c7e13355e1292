"""Splits long work on the event loop into slices of a few milliseconds, so that no request blocks the others.

    time_slice = time_slices.begin()
    for each in ten_thousand:
        ...
        if time_slice.is_over():
            await time_slices.next(time_slice)

All long work of a broker shares one `TimeSlices`. Between two slices the loop runs whatever else is ready, and only one
waiting task gets the next slice: a hundred long requests block the loop no longer at a time than one.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

SLICE_S: Final = 0.003


class TimeSlice:
    __slots__ = ("_now", "ends")

    def __init__(self, ends: float, now: Callable[[], float]) -> None:
        self.ends = ends
        self._now = now

    def is_over(self) -> bool:
        return self._now() >= self.ends


class TimeSlices:
    def __init__(self, slice_s: float = SLICE_S, *, now: Callable[[], float] = time.perf_counter) -> None:
        """`now`: the clock's `work_s`."""
        self._slice_s = slice_s
        self._now = now
        self._waiting: deque[asyncio.Future[None]] = deque()

    def begin(self) -> TimeSlice:
        """For work that is running already and may turn out to be short."""
        return TimeSlice(self._now() + self._slice_s, self._now)

    async def wait(self) -> TimeSlice:
        """For work that is known to be long: wait for the first slice."""
        time_slice = TimeSlice(0.0, self._now)
        await self.next(time_slice)
        return time_slice

    async def next(self, time_slice: TimeSlice) -> None:
        """Let others run, and continue with a new slice."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting.append(waiter)
        if len(self._waiting) == 1:
            loop.call_soon(self._admit)
        await waiter
        time_slice.ends = self._now() + self._slice_s

    def _admit(self) -> None:
        """Start one waiting task per iteration of the loop, skipping tasks that were cancelled."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                break
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._admit)
