"""Limits how fast an address may open connections: `connection_creation_rate` (KIP-612)."""

from collections.abc import Mapping
from typing import Final

from barnabas.quotas.rate import Rate, Windows

ADDRESSES_MAX: Final = 20_000
"""Beyond this, the least recently seen address is dropped."""


class ConnectionRates:
    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._limits: Mapping[str | None, float] = {}
        self._rates: dict[str, Rate] = {}

    def set(self, limits: Mapping[str | None, float]) -> None:
        """Limits by address; None is every other address. Connections counted so far are kept."""
        self._limits = limits

    def enter(self, address: str, now_ms: int) -> int:
        """Count a connection. Above the limit it is not counted; returns the milliseconds after which to close it."""
        limit = self._limits.get(address, self._limits.get(None))
        if limit is None:
            return 0
        rate = self._rates.pop(address, None) or Rate(self._windows)
        self._rates[address] = rate
        if len(self._rates) > ADDRESSES_MAX:
            del self._rates[next(iter(self._rates))]
        rate.record(1, now_ms)
        excess_ms = rate.excess_ms(limit, now_ms)
        if excess_ms:
            rate.record(-1, now_ms)
        return min(excess_ms, self._windows.size_ms)
