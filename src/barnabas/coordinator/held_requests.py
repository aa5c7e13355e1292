"""Requests for a partition that is still loading: they wait, and are handled in the order in which they arrived.

Kafka answers them with COORDINATOR_LOAD_IN_PROGRESS. Some clients then pause for seconds, and KafkaJS restarts its
consumer. Here a client gets that answer only if loading takes longer than `HOLD_MS_MAX`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, Final, Generic, TypeVar

from barnabas.env import Clock
from barnabas.wire.errors import CoordinatorLoadInProgress, KafkaError

HOLD_MS_MAX: Final = 3_000
"""Shorter than the request timeout of every client we know: kafka-go has the shortest, 5 s."""

R = TypeVar("R")


class Pending(Generic[R]):
    """A response that is not ready: its partition is loading, its records are not committed, or it is parked."""

    __slots__ = ("_wait",)

    def __init__(self, wait: Callable[[], Awaitable[R]]) -> None:
        self._wait = wait

    def __await__(self) -> Generator[Any, None, R]:
        return self._wait().__await__()


class HeldRequests:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._requests: list[_HeldRequest] = []

    def __bool__(self) -> bool:
        return bool(self._requests)

    def hold(self, carry_out: Callable[[], R | Pending[R]]) -> Pending[R]:
        request = _HeldRequest(carry_out, self._clock)
        self._requests.append(request)
        return Pending(request.response)

    def resume_all(self) -> None:
        """Handles all of them before it returns, so that no later request overtakes one."""
        requests, self._requests = self._requests, []
        for request in requests:
            request.resume()

    def refuse_all(self, error: KafkaError) -> None:
        requests, self._requests = self._requests, []
        for request in requests:
            request.refuse(error)


class _HeldRequest:
    __slots__ = ("_carry_out", "_outcome", "_timer")

    def __init__(self, carry_out: Callable[[], Any], clock: Clock) -> None:
        self._carry_out = carry_out
        self._outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._outcome.add_done_callback(_mark_retrieved)
        late = CoordinatorLoadInProgress("the coordinator is still reading its log; try again shortly")
        self._timer = clock.call_later(HOLD_MS_MAX, partial(self.refuse, late))

    def resume(self) -> None:
        self._timer.cancel()
        if self._outcome.done():
            return  # it has timed out, or its client is gone
        try:
            self._outcome.set_result(self._carry_out())
        except Exception as error:
            self._outcome.set_exception(error)

    def refuse(self, error: KafkaError) -> None:
        self._timer.cancel()
        if not self._outcome.done():
            self._outcome.set_exception(error)

    async def response(self) -> Any:
        outcome = await self._outcome
        return await outcome if isinstance(outcome, Pending) else outcome


def _mark_retrieved(outcome: "asyncio.Future[Any]") -> None:
    """Stops asyncio from logging an error that nobody waits for any more."""
    if not outcome.cancelled():
        outcome.exception()
