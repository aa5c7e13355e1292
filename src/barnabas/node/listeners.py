"""Kafka's `listeners` and `advertised.listeners`: the addresses to bind, and those sent to clients.

Without `advertised.listeners`, clients get the address that is bound. If that is every address ("0.0.0.0" or nothing),
they get the address they connected to, so it works on localhost, on a LAN and in a container without a setting. Behind
NAT, or with another published port, `advertised.listeners` is needed.
"""

import re
from typing import NamedTuple

from barnabas.handlers.endpoints import WILDCARD_HOSTS
from barnabas.metadata.configs.effective import BrokerConfigs
from barnabas.node.errors import StartError

_LISTENER = re.compile(r"(?P<name>[A-Za-z0-9_]+)://(?P<host>\[[0-9A-Fa-f:.]+\]|[^:/\[\]]*):(?P<port>\d+)")


class ListenerAddress(NamedTuple):
    name: str
    host: str
    port: int


class ListenerPlan(NamedTuple):
    bind: ListenerAddress
    advertised: ListenerAddress | None
    """None: as bound."""


def plan_listeners(configs: BrokerConfigs) -> list[ListenerPlan]:
    bound = [_parse("listeners", text) for text in configs.strings("listeners")]
    advertised_addresses = [_parse("advertised.listeners", text) for text in configs.strings("advertised.listeners")]
    advertised = {listener.name: listener for listener in advertised_addresses}
    controllers = set(configs.strings("controller.listener.names"))
    protocols = dict(pair.split(":", 1) for pair in comma_separated(configs, "listener.security.protocol.map"))
    plans = []
    for listener in bound:
        if listener.name in controllers:
            continue  # a quorum of one voter needs no socket
        protocol = protocols.get(listener.name, listener.name)
        if protocol != "PLAINTEXT":
            raise StartError(
                f"listener {listener.name} has protocol {protocol}, but only PLAINTEXT is supported so far; "
                f"use listeners=PLAINTEXT://{listener.host}:{listener.port}"
            )
        plans.append(ListenerPlan(listener, advertised.pop(listener.name, None)))
    if not plans:
        raise StartError("no listener for clients: set listeners=PLAINTEXT://localhost:9092")
    for unknown in advertised.values():
        if unknown.name not in controllers:
            raise StartError(
                f"advertised.listeners names {unknown.name}, which is not in listeners; "
                f"the listeners are {', '.join(plan.bind.name for plan in plans)}"
            )
    for plan in plans:
        if plan.advertised is not None and plan.advertised.host in WILDCARD_HOSTS:
            raise StartError(
                f"advertised.listeners={plan.advertised.name}://{plan.advertised.host}:{plan.advertised.port} is not "
                "an address that clients can connect to; set a host name or address that they can reach"
            )
    return plans


def comma_separated(configs: BrokerConfigs, name: str) -> list[str]:
    """Kafka declares some lists as plain strings."""
    return [item.strip() for item in (configs.string(name) or "").split(",") if item.strip()]


def _parse(setting: str, text: str) -> ListenerAddress:
    found = _LISTENER.fullmatch(text.strip())
    if found is None:
        raise StartError(f"{setting}={text} is not NAME://HOST:PORT, as in PLAINTEXT://localhost:9092")
    if len(found["port"]) > 5 or int(found["port"]) > 65535:
        raise StartError(f"{setting}={text}: {found['port']} is not a port; choose one from 0 to 65535")
    return ListenerAddress(found["name"].upper(), found["host"].strip("[]"), int(found["port"]))
