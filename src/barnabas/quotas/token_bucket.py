"""A token bucket (KIP-599): it fills at a steady rate up to the burst size, and requests take tokens from it.

A request may take it below zero; the next ones have to wait until it has filled up to zero again.
"""

import math

from barnabas.quotas.rate import MILLISECONDS, Windows


class TokenBucket:
    def __init__(self, windows: Windows) -> None:
        self._burst_seconds = windows.samples * windows.size_ms / MILLISECONDS
        self._tokens = math.inf
        """A new bucket is full, whatever its size."""
        self._updated_ms = 0

    def spend(self, tokens: float, limit: float, now_ms: int) -> None:
        burst = self._refill(limit, now_ms)
        self._tokens = min(burst, self._tokens - tokens)

    def debt_ms(self, limit: float, now_ms: int) -> int:
        """How long until the bucket is back at zero; 0 unless it is below."""
        self._refill(limit, now_ms)
        return round(-self._tokens / limit * MILLISECONDS) if self._tokens < 0 else 0

    def _refill(self, limit: float, now_ms: int) -> float:
        burst = self._burst_seconds * limit
        self._tokens = min(burst, self._tokens + limit * (now_ms - self._updated_ms) / MILLISECONDS)
        self._updated_ms = now_ms
        return burst
