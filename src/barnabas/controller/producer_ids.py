"""Hands out producer ids from the broker's current block, and asks for the next block when it is used up."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator


class ProducerIdSource:
    def __init__(self, allocate: Callable[[], Awaitable[range]]) -> None:
        self._allocate = allocate
        self._ids: Iterator[int] = iter(())
        self._refilling: asyncio.Future[None] | None = None

    async def next(self) -> int:
        while (producer_id := self.take()) is None:
            await self.refill()
        return producer_id

    def take(self) -> int | None:
        """The next id of the block; None when it is used up, and then the next block is on its way."""
        producer_id = next(self._ids, None)
        if producer_id is None:
            self._start_refill()
        return producer_id

    async def refill(self) -> None:
        # All who find the block empty wait for one and the same refill. A caller that goes away does not take it along:
        # the others still wait for it.
        await asyncio.shield(self._start_refill())

    def _start_refill(self) -> "asyncio.Future[None]":
        if self._refilling is None:
            self._refilling = asyncio.ensure_future(self._fill())
            self._refilling.add_done_callback(_retrieve)
        return self._refilling

    async def _fill(self) -> None:
        try:
            self._ids = iter(await self._allocate())
        finally:
            self._refilling = None


def _retrieve(refill: "asyncio.Future[None]") -> None:
    """Whoever waits is told of a failure; nobody may be waiting."""
    if not refill.cancelled():
        refill.exception()
