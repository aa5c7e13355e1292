"""What a client needs to know to reach its cluster. Frozen, and can be pickled: Spark sends it to every task."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

DEFAULT_PORT: Final = 9092

PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL = "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"

READ_UNCOMMITTED, READ_COMMITTED = 0, 1

Address = tuple[str, int]


@dataclass(frozen=True)
class Security:
    protocol: str = PLAINTEXT


@dataclass(frozen=True)
class ClientSettings:
    """Made by `properties.client_settings` from Kafka's names; the defaults are those of Kafka's Java clients."""

    bootstrap: tuple[Address, ...]
    client_id: str = "barnabas"
    request_timeout_s: float = 30.0
    """For one answer."""
    api_timeout_s: float = 60.0
    """For one call of ours, with everything that has to be asked again because brokers restart or leaders move."""
    connect_timeout_s: float = 10.0
    """For one attempt to reach one address."""
    retry_pause_s: float = 0.1
    retry_pause_s_max: float = 1.0
    isolation_level: int = READ_UNCOMMITTED
    security: Security = field(default_factory=Security)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    """All properties as they were given, for what other rooms read from them; not shown, there are passwords in it."""

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.bootstrap)
