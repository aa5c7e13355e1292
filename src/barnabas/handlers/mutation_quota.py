"""Charges changes to the cluster to the client's `controller_mutation_rate` quota (KIP-599)."""

import datetime
from collections.abc import Awaitable, Callable
from typing import TypeVar

from barnabas.controller.decision import Spend, unlimited
from barnabas.handlers.context import RequestContext
from barnabas.wire.schema import Message

R = TypeVar("R", bound=Message)


async def with_mutation_quota(
    context: RequestContext, decide: Callable[[Spend], Awaitable[R]], *, strict_since: int
) -> R:
    """The controller's answer with a throttle time. From version `strict_since` on, a client may be refused instead."""
    quota = context.mutation_quota(strict_since=strict_since)
    if quota is None:
        return await decide(unlimited)
    response = await decide(quota.spend)
    throttle_ms = quota.throttle_ms
    return response.replace(throttle_time=datetime.timedelta(milliseconds=throttle_ms)) if throttle_ms else response
