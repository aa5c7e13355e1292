"""Starts a coroutine without a task: often it has nothing to wait for, and a task costs more than its work.

From Python 3.12 on asyncio can do that itself.
"""

import asyncio
from collections.abc import Coroutine, Generator
from functools import partial
from typing import Any


def start_eagerly(coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None] | None":
    """Runs it up to its first wait. A task does the rest; None: nothing is left. Its errors until then are raised."""
    try:
        waits_for = coroutine.send(None)
    except StopIteration:
        return None
    return asyncio.ensure_future(_Rest(coroutine, waits_for))


class _Rest:
    def __init__(self, coroutine: Coroutine[Any, Any, None], waits_for: object) -> None:
        self._coroutine = coroutine
        self._waits_for = waits_for

    def __await__(self) -> Generator[object, Any, None]:
        waits_for = self._waits_for
        while True:
            try:
                result = yield waits_for
            except BaseException as error:  # as when the task is cancelled
                resume = partial(self._coroutine.throw, error)
            else:
                resume = partial(self._coroutine.send, result)
            try:
                waits_for = resume()
            except StopIteration:
                return
