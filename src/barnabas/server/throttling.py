"""One request under quotas: what it used, how long its client must rest, and the answer that tells so.

Only where some quota is set. The rest is told in the answer (`throttle_time_ms`) and kept by the connection, which
takes nothing from the client for that long after the answer has gone (KIP-219).
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from barnabas.handlers.context import RequestContext
from barnabas.quotas.limits import ANONYMOUS
from barnabas.wire.api_table import PRODUCE, Api

if TYPE_CHECKING:
    from barnabas.quotas.client_quotas import ClientQuotas


class ThrottledBuffers(list[bytes]):
    """An answer after which the client rests."""

    __slots__ = ("throttle_ms",)

    def __init__(self, buffers: list[bytes], throttle_ms: int) -> None:
        super().__init__(buffers)
        self.throttle_ms = throttle_ms


class RequestMeter:
    """Counts the time from its making to `pause` or `settle`: that in which the loop works for nobody else."""

    __slots__ = ("_api", "_context", "_quotas", "_size", "_spent_s", "_started_s")

    def __init__(self, quotas: ClientQuotas, context: RequestContext, api: Api, size: int) -> None:
        self._quotas = quotas
        self._context = context
        self._api = api
        self._size = size
        self._spent_s = 0.0
        self._started_s: float | None = time.perf_counter()

    def pause(self) -> None:
        if self._started_s is not None:
            self._spent_s += time.perf_counter() - self._started_s
            self._started_s = None

    def settle(self, response: Any) -> tuple[Any, int]:
        """The response with the throttle time in it, and that time in milliseconds."""
        self.pause()
        client_id = self._context.client_id or ""
        throttle_ms = max(told_ms(response), self._quotas.worked(ANONYMOUS, client_id, self._spent_s))
        if self._api is PRODUCE:
            throttle_ms = max(throttle_ms, self._quotas.produced(ANONYMOUS, client_id, self._size))
        return (telling(response, throttle_ms) if throttle_ms else response), throttle_ms


def told_ms(response: Any) -> int:
    """The rest that the handler asks for: a fetch that came too early, partitions made too fast."""
    if hasattr(response, "throttle_time_ms"):
        return int(response.throttle_time_ms)
    told: datetime.timedelta | None = getattr(response, "throttle_time", None)
    return 0 if told is None else told // datetime.timedelta(milliseconds=1)


def telling(response: Any, throttle_ms: int) -> Any:
    """As far as the response has a place for it: a produce without acks has none."""
    if hasattr(response, "throttle_time_ms"):
        return response._replace(throttle_time_ms=throttle_ms)
    throttle_time = datetime.timedelta(milliseconds=throttle_ms)
    if hasattr(response, "throttle_time"):
        return response.replace(throttle_time=throttle_time)
    if hasattr(response, "frame"):  # Metadata's, whose topics come encoded
        return response._replace(frame=response.frame.replace(throttle_time=throttle_time))
    return response


async def throttled_later(buffers: Awaitable[list[bytes]], throttle_ms: int) -> list[bytes]:
    return ThrottledBuffers(await buffers, throttle_ms)
