"""Hands out producer ids from the broker's current block, and asks for the next block when it is used up."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator


class ProducerIdSource:
    def __init__(self, allocate: Callable[[], Awaitable[range]]) -> None:
        self._allocate = allocate
        self._ids: Iterator[int] = iter(())
        self._refill: asyncio.Future[None] | None = None

    async def next(self) -> int:
        while True:
            for producer_id in self._ids:
                return producer_id
            # All who find the block empty wait for one and the same refill. A caller that goes away does not take it
            # along: the others still wait for it.
            if self._refill is None:
                self._refill = asyncio.ensure_future(self._fill())
            await asyncio.shield(self._refill)

    async def _fill(self) -> None:
        try:
            self._ids = iter(await self._allocate())
        finally:
            self._refill = None
