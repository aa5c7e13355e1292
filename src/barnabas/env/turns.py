"""Long work on the loop, a few milliseconds at a time: nobody waits for a list that somebody else made long.

    turn = turns.begin()
    for each in ten_thousand:
        ...
        if turn.is_over():
            await turns.next(turn)

All long work of a broker shares one `Turns`. Between two turns the loop serves whatever else is ready, and only one of
those who wait gets the next turn: a hundred long requests hold the loop no longer at a time than one.
"""

import asyncio
import time
from collections import deque
from typing import Final

TURN_S: Final = 0.003


class Turn:
    __slots__ = ("ends",)

    def __init__(self, ends: float) -> None:
        self.ends = ends

    def is_over(self) -> bool:
        return time.perf_counter() >= self.ends


class Turns:
    def __init__(self, turn_s: float = TURN_S) -> None:
        self._turn_s = turn_s
        self._waiting: deque[asyncio.Future[None]] = deque()

    def begin(self) -> Turn:
        """For work that has just got the loop, and may turn out to be short."""
        return Turn(time.perf_counter() + self._turn_s)

    async def wait(self) -> Turn:
        """For work that is known to be long: begin when it is one's turn."""
        turn = Turn(0.0)
        await self.next(turn)
        return turn

    async def next(self, turn: Turn) -> None:
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting.append(waiter)
        if len(self._waiting) == 1:
            loop.call_soon(self._admit)
        await waiter
        turn.ends = time.perf_counter() + self._turn_s

    def _admit(self) -> None:
        """One per round of the loop. Whoever has given up meanwhile leaves the round to the next."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                break
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._admit)
