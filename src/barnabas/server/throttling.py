"""Applies quotas to a request: counts what it used, and puts the throttle time into its answer.

Only if any quota is set. The client is told the throttle time in the answer (`throttle_time_ms`), and the connection
enforces it: it reads no requests for that time after the answer was sent (KIP-219).
"""

from __future__ import annotations

import datetime
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from barnabas.env import FileRange
from barnabas.handlers.context import RequestContext
from barnabas.quotas.limits import ANONYMOUS
from barnabas.server.sending import Buffers
from barnabas.wire.api_table import PRODUCE, Api

if TYPE_CHECKING:
    from barnabas.quotas.client_quotas import ClientQuotas


class ThrottledBuffers(list[bytes | FileRange]):
    """An answer after which the client is throttled."""

    __slots__ = ("throttle_ms",)

    def __init__(self, buffers: Buffers, throttle_ms: int) -> None:
        super().__init__(buffers)
        self.throttle_ms = throttle_ms


class RequestMeter:
    """Measures the time from its creation to `pause` or `settle`, in which the loop works for this request only."""

    __slots__ = ("_api", "_context", "_quotas", "_size", "_spent_s", "_started_s", "_work_s")

    def __init__(
        self, quotas: ClientQuotas, context: RequestContext, api: Api, size: int, work_s: Callable[[], float]
    ) -> None:
        self._quotas = quotas
        self._context = context
        self._api = api
        self._size = size
        self._spent_s = 0.0
        self._work_s = work_s
        self._started_s: float | None = work_s()

    def pause(self) -> None:
        if self._started_s is not None:
            self._spent_s += self._work_s() - self._started_s
            self._started_s = None

    def settle(self, response: Any) -> tuple[Any, int]:
        """The response with the throttle time in it, and that time in milliseconds."""
        self.pause()
        client_id = self._context.client_id or ""
        throttle_ms = max(requested_throttle_ms(response), self._quotas.worked(ANONYMOUS, client_id, self._spent_s))
        if self._api is PRODUCE:
            throttle_ms = max(throttle_ms, self._quotas.produced(ANONYMOUS, client_id, self._size))
        return (with_throttle_time(response, throttle_ms) if throttle_ms else response), throttle_ms


def requested_throttle_ms(response: Any) -> int:
    """The throttle time that the handler set, for a fetch or a change of partitions."""
    if hasattr(response, "throttle_time_ms"):
        return int(response.throttle_time_ms)
    throttle_time: datetime.timedelta | None = getattr(response, "throttle_time", None)
    return 0 if throttle_time is None else throttle_time // datetime.timedelta(milliseconds=1)


def with_throttle_time(response: Any, throttle_ms: int) -> Any:
    """Does nothing if the response has no such field, or there is none, as for a produce without acks."""
    if hasattr(response, "throttle_time_ms"):
        return response._replace(throttle_time_ms=throttle_ms)
    throttle_time = datetime.timedelta(milliseconds=throttle_ms)
    if hasattr(response, "throttle_time"):
        return response.replace(throttle_time=throttle_time)
    return response


async def throttled_later(buffers: Awaitable[Buffers], throttle_ms: int) -> Buffers:
    return ThrottledBuffers(await buffers, throttle_ms)
