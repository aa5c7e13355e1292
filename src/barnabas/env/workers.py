"""Runs blocking calls: in threads for a broker, on the caller itself in a simulation.

Only calls that release the GIL and touch no state of the event loop belong here: fsync, cold reads, deletes.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

T = TypeVar("T")


class Workers(Protocol):
    is_inline: bool
    """Everything runs on the event loop: no threads, and no helper processes either."""

    def run(self, call: Callable[[], T]) -> Awaitable[T]:
        """Run `call` off the loop; its result or exception comes back through the awaitable."""

    def close(self) -> None:
        """Wait for running calls, and accept no new ones."""


class ThreadWorkers:
    """A small pool: fsync and cold reads wait for the device, more threads would only queue there."""

    is_inline = False

    def __init__(self, threads: int = 4) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="barnabas-worker")

    def run(self, call: Callable[[], T]) -> Awaitable[T]:
        return asyncio.get_running_loop().run_in_executor(self._pool, call)

    def close(self) -> None:
        self._pool.shutdown(wait=True)


class InlineWorkers:
    """Runs the call at once, on the caller: deterministic, for tests and simulations."""

    is_inline = True

    async def run(self, call: Callable[[], T]) -> T:
        return call()

    def close(self) -> None:
        return None
