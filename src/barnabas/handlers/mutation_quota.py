"""Charges changes to the cluster to the client's `controller_mutation_rate` quota (KIP-599)."""

import datetime

from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import Quotas
from barnabas.quotas.limits import ANONYMOUS


class MutationQuota:
    def __init__(self, quotas: Quotas, context: RequestContext, *, strict_since: int) -> None:
        """From version `strict_since` on, a client that is over its quota is refused. Before, it is only throttled."""
        strict = context.api_version >= strict_since
        clients = quotas.clients
        self._quota = None if clients is None else clients.mutations(ANONYMOUS, context.client_id or "", strict=strict)

    def spend(self, partitions: int) -> None:
        """Raises ThrottlingQuotaExceeded."""
        if self._quota is not None:
            self._quota.spend(partitions)

    @property
    def throttle_time(self) -> datetime.timedelta:
        return datetime.timedelta(milliseconds=0 if self._quota is None else self._quota.throttle_ms)
