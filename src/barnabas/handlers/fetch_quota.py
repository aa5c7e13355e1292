"""A fetch under its client's `consumer_byte_rate`.

It carries no more than the quota's windows hold, or it could never be sent. One that comes too early is answered empty,
with the time to wait, and a session that it was to open is not opened: the client asks anew, as it does with Kafka.
Bytes of records are counted; Kafka also counts the hundred or so around them.
"""

from collections.abc import Iterable

from barnabas.quotas.client_quotas import ClientQuotas
from barnabas.quotas.limits import ANONYMOUS
from barnabas.wire.fetch_response import FetchedPartition


class FetchQuota:
    def __init__(self, quotas: ClientQuotas, client_id: str | None) -> None:
        self._quotas = quotas
        self._client_id = client_id or ""

    def limited(self, max_bytes: int) -> int:
        consumable = self._quotas.consumable_bytes(ANONYMOUS, self._client_id)
        return max_bytes if consumable is None else min(max_bytes, consumable)

    def throttle_ms(self, answers: Iterable[FetchedPartition]) -> int:
        """How long the client must wait before it may have these; 0: now."""
        return self._quotas.consume(ANONYMOUS, self._client_id, sum(len(answer.records) for answer in answers))
