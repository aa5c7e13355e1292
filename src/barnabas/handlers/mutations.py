"""What a request spends of its client's `controller_mutation_rate` (KIP-599), around one decision of the controller."""

import datetime
from collections.abc import Awaitable, Callable
from typing import TypeVar

from barnabas.controller.decision import Spend, unlimited
from barnabas.handlers.context import RequestContext
from barnabas.wire.message import Message

R = TypeVar("R", bound=Message)


async def spending(context: RequestContext, decide: Callable[[Spend], Awaitable[R]], *, strict_since: int) -> R:
    """The answer, with the rest that the client has to take. Versions from `strict_since` on know the error for it."""
    quota = context.mutation_quota(strict_since=strict_since)
    if quota is None:
        return await decide(unlimited)
    response = await decide(quota.spend)
    throttle_ms = quota.throttle_ms
    return response.replace(throttle_time=datetime.timedelta(milliseconds=throttle_ms)) if throttle_ms else response
