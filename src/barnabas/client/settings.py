"""A client's settings. They are frozen and can be pickled: Spark sends them to every task.

They hold passwords, keys and tokens, but their `repr` does not show these, so that it may be logged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

DEFAULT_PORT: Final = 9092

PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL = "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"
PLAIN, SCRAM_SHA_256, SCRAM_SHA_512, OAUTHBEARER = "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"

READ_UNCOMMITTED, READ_COMMITTED = 0, 1

Address = tuple[str, int]


@dataclass(frozen=True)
class Tls:
    """Files are read when a connection is made, on the machine that makes it, as Kafka's own clients do."""

    trusted_file: str | None = None
    trusted_pem: str | None = None
    """Certificates of trusted authorities; without either, those that the system trusts."""
    own_file: str | None = None
    """Our certificate with its chain; our key too, unless `key_file` has it."""
    key_file: str | None = None
    own_pem: str | None = field(default=None, repr=False)
    """The same as text: key and certificates."""
    key_password: str | None = field(default=None, repr=False)
    check_host_name: bool = True
    versions: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")


@dataclass(frozen=True)
class Login:
    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    token: str | None = field(default=None, repr=False)
    """For OAUTHBEARER."""
    unsecured_claims: tuple[tuple[str, object], ...] = ()
    """For OAUTHBEARER without a token: the claims of an unsigned token, which test set-ups of Kafka accept."""
    unsecured_lifetime_s: int = 3600
    extensions: tuple[tuple[str, str], ...] = ()
    """For OAUTHBEARER: sent along with the token."""


@dataclass(frozen=True)
class Security:
    protocol: str = PLAINTEXT
    tls: Tls | None = None
    login: Login | None = None


@dataclass(frozen=True)
class ClientSettings:
    """Made by `properties.client_settings` from Kafka's names; the defaults are those of Kafka's Java clients."""

    bootstrap: tuple[Address, ...]
    client_id: str = "barnabas"
    request_timeout_s: float = 30.0
    """For one response."""
    api_timeout_s: float = 60.0
    """For one call, retries included."""
    connect_timeout_s: float = 10.0
    """For one attempt to reach one address."""
    retry_pause_s: float = 0.1
    retry_pause_s_max: float = 1.0
    isolation_level: int = READ_UNCOMMITTED
    security: Security = field(default_factory=Security)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    """All properties as they were given, for other rooms to read."""

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.bootstrap)
