"""Applies a client's `consumer_byte_rate` quota to a fetch.

An answer is never larger than the quota's windows allow, or it could never be sent. A client over its quota gets an
empty answer with a throttle time, and no session is opened: the client retries, as with Kafka. Only the bytes of
records are counted; Kafka also counts the hundred or so bytes around them.
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

    def throttle_ms(self, answers: Iterable[FetchedPartition | None]) -> int:
        """How long the client must wait before it may have these answers; 0: no wait."""
        size = sum(len(answer.records) for answer in answers if answer is not None)
        return self._quotas.consume(ANONYMOUS, self._client_id, size)
