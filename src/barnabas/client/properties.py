"""Reads Kafka's client properties, by the names of its Java clients."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from barnabas.client.errors import BadProperty
from barnabas.client.property_names import LIBRDKAFKA_NAMES
from barnabas.client.property_names import unknown as unknown
from barnabas.client.security_properties import security
from barnabas.client.settings import DEFAULT_PORT, READ_COMMITTED, READ_UNCOMMITTED, Address, ClientSettings

T = TypeVar("T")

_ISOLATION_LEVELS: Final = {"read_uncommitted": READ_UNCOMMITTED, "read_committed": READ_COMMITTED}
_TIMES_MS: Final = {
    "request.timeout.ms": "request_timeout_s",
    "default.api.timeout.ms": "api_timeout_s",
    "socket.connection.setup.timeout.ms": "connect_timeout_s",
    "retry.backoff.ms": "retry_pause_s",
    "retry.backoff.max.ms": "retry_pause_s_max",
}


def client_settings(properties: Mapping[str, str]) -> ClientSettings:
    """From Kafka's names, without "kafka." in front; BadProperty if a value is wrong."""
    properties = {LIBRDKAFKA_NAMES.get(name, name): value for name, value in properties.items()}
    if not properties.get("bootstrap.servers", "").strip():
        raise BadProperty("bootstrap.servers", "it is missing", "give the brokers' addresses, like localhost:9092")
    settings: dict[str, Any] = {"bootstrap": _addresses(properties["bootstrap.servers"])}
    for name, attribute in _TIMES_MS.items():
        if name in properties:
            settings[attribute] = _milliseconds(name, properties[name])
    if "client.id" in properties:
        settings["client_id"] = properties["client.id"]
    if "isolation.level" in properties:
        settings["isolation_level"] = _choice("isolation.level", properties["isolation.level"], _ISOLATION_LEVELS)
    return ClientSettings(security=security(properties), properties=dict(properties), **settings)


def parse_address(server: str) -> Address:
    """`host:port`, `[IPv6 address]:port`, or a host alone at Kafka's usual port."""
    text = server.strip()
    host, _, port = text.rpartition(":")
    if not host or text.endswith("]"):
        host, port = text, str(DEFAULT_PORT)
    is_bare_ipv6 = ":" in host and not host.startswith("[")
    host = host.strip("[]")
    if not host or is_bare_ipv6 or not port.isdecimal() or not 0 < int(port) < 65536:
        raise BadProperty("bootstrap.servers", f"{server!r} is not an address", "write host:port, like localhost:9092")
    return host, int(port)


def _addresses(servers: str) -> tuple[Address, ...]:
    return tuple(parse_address(server) for server in servers.split(",") if server.strip())


def _milliseconds(name: str, value: str) -> float:
    if not value.strip().isdecimal():
        raise BadProperty(name, f"{value!r} is not a number of milliseconds", "write a whole number, like 30000")
    return int(value) / 1000


def _choice(name: str, value: str, choices: Mapping[str, T]) -> T:
    found = choices.get(value.strip().lower())
    if found is None:
        raise BadProperty(name, f"{value!r} is not one of its values", f"choose one of {', '.join(choices)}")
    return found
