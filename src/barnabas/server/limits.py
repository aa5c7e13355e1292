"""How many connections, from whom, how fast. Pure: time and addresses come in as arguments.

Kafka's settings: `max.connections`, `max.connections.per.ip`, `max.connections.per.ip.overrides` and
`max.connection.creation.rate`. A connection past a count is closed at once (Kafka leaves it in the accept queue when
the listener is full; a closed connection tells the client sooner). One past the rate waits its turn. One past the quota
of its address is held unserved and then closed: so its client does not come back at once.
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
    """The connection must go; the text says which setting to raise."""


class TooManyTooSoon(Exception):
    """The address opens connections faster than its quota allows: this one is closed, but not at once."""

    def __init__(self, close_after_seconds: float) -> None:
        super().__init__("its address opens connections too fast (connection_creation_rate)")
        self.close_after_seconds = close_after_seconds


class ConnectionGate:
    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._per_ip: Counter[str] = Counter()
        self._total = 0
        self._next_turn = 0.0
        self.rates: ConnectionRates | None = None
        """By address, where a quota is set."""

    def enter(self, ip: str, now: float) -> float:
        """Count the connection in. Returns how many seconds it must wait before it is served."""
        if self._total >= self.limits.total_max:
            raise TooManyConnections(f"{self._total} connections are open (max.connections)")
        ip_max = self.limits.per_ip_overrides.get(ip, self.limits.per_ip_max)
        if self._per_ip[ip] >= ip_max:
            raise TooManyConnections(f"{self._per_ip[ip]} connections from {ip} are open (max.connections.per.ip)")
        if self.rates is not None and (throttle_ms := self.rates.enter(ip, int(now * 1000))):
            raise TooManyTooSoon(throttle_ms / 1000)
        self._total += 1
        self._per_ip[ip] += 1
        rate = self.limits.creations_per_second_max
        if rate >= 2**31 - 1:
            return 0.0
        # One second's worth may come in a burst; after that, one turn every 1/rate seconds.
        self._next_turn = max(self._next_turn, now - 1.0) + 1.0 / rate
        return max(0.0, self._next_turn - now)

    def leave(self, ip: str) -> None:
        self._total -= 1
        self._per_ip[ip] -= 1
        if not self._per_ip[ip]:
            del self._per_ip[ip]
