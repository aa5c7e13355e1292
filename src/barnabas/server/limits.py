"""Limits the number and the rate of connections. Pure: time and addresses are arguments.

Kafka's settings: `max.connections`, `max.connections.per.ip`, `max.connections.per.ip.overrides` and
`max.connection.creation.rate`. A connection above a maximum is closed at once (Kafka leaves it in the accept queue when
the listener is full, so that the client notices later). A connection above the rate is served later. A connection above
the quota of its address is kept open without being served, and then closed, so that the client does not retry at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from barnabas.quotas.connection_rates import ConnectionRates


class ConnectionLimits(NamedTuple):
    total_max: int = 2**31 - 1
    per_ip_max: int = 2**31 - 1
    per_ip_overrides: Mapping[str, int] = MappingProxyType({})
    creations_per_second_max: int = 2**31 - 1


class TooManyConnections(Exception):
    """The connection must be closed; the message names the setting to raise."""


class ConnectionRateExceeded(Exception):
    """The address exceeds its connection_creation_rate: close the connection after a delay."""

    def __init__(self, close_after_seconds: float) -> None:
        super().__init__("its address opens connections too fast (connection_creation_rate)")
        self.close_after_seconds = close_after_seconds


class ConnectionGate:
    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._per_ip: Counter[str] = Counter()
        self._total = 0
        self._next_served = 0.0
        self.rates: ConnectionRates | None = None
        """None: no quota is set."""

    def enter(self, ip: str, now: float) -> float:
        """Count the connection. Returns the seconds after which to serve it."""
        if self._total >= self.limits.total_max:
            raise TooManyConnections(f"{self._total} connections are open (max.connections)")
        ip_max = self.limits.per_ip_overrides.get(ip, self.limits.per_ip_max)
        if self._per_ip[ip] >= ip_max:
            raise TooManyConnections(f"{self._per_ip[ip]} connections from {ip} are open (max.connections.per.ip)")
        if self.rates is not None and (throttle_ms := self.rates.enter(ip, int(now * 1000))):
            raise ConnectionRateExceeded(throttle_ms / 1000)
        self._total += 1
        self._per_ip[ip] += 1
        rate = self.limits.creations_per_second_max
        if rate >= 2**31 - 1:
            return 0.0
        # One second's worth may come in a burst; after that, one every 1/rate seconds.
        self._next_served = max(self._next_served, now - 1.0) + 1.0 / rate
        return max(0.0, self._next_served - now)

    def leave(self, ip: str) -> None:
        self._total -= 1
        self._per_ip[ip] -= 1
        if not self._per_ip[ip]:
            del self._per_ip[ip]
