"""Hands out producer ids from the broker's current block, and requests the next block when it is used up."""

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
        """The next id of the block; None if it is used up: then the next block has been requested."""
        producer_id = next(self._ids, None)
        if producer_id is None:
            self._start_refill()
        return producer_id

    async def refill(self) -> None:
        # All callers that find the block empty wait for the same refill. A cancelled caller must not cancel it for the
        # others.
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
    """Callers get the error; this marks it as retrieved in case there are none."""
    if not refill.cancelled():
        refill.exception()
