"""Translates properties of Kafka's Java clients for librdkafka.

Most names are the same. Some differ, and some have no counterpart and no visible effect. Everything else is passed to
librdkafka as it is, which refuses names that it does not know.
"""

import time
from collections.abc import Mapping
from typing import Final

from barnabas.cli.errors import CommandFailed

_RENAMED: Final = {
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}

# Internals of the Java client, without a counterpart in librdkafka.
_IGNORED: Final = frozenset(
    {
        "bootstrap.servers",
        "key.serializer",
        "value.serializer",
        "key.deserializer",
        "value.deserializer",
        "max.block.ms",
        "max.poll.records",
        "default.api.timeout.ms",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "enable.metrics.push",
        "exclude.internal.topics",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.ignore.keys",
        "metadata.max.idle.ms",
        "socket.connection.setup.timeout.max.ms",
        "security.providers",
        "auto.include.jmx.reporter",
        # PEM stores have no passwords; librdkafka cannot choose the versions of TLS.
        "ssl.truststore.password",
        "ssl.keystore.password",
        "ssl.enabled.protocols",
        "ssl.protocol",
    }
)

_ASSIGNORS: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
_TOKEN_LIFETIME_S: Final = 3600
"""The real lifetime of a token is unknown; the broker checks it."""


def to_librdkafka(properties: Mapping[str, str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in properties.items():
        if name in _IGNORED:
            continue
        match name:
            case "buffer.memory":
                found["queue.buffering.max.kbytes"] = str(max(1, int(value) // 1024))
            case "auto.offset.reset":
                found[name] = "error" if value == "none" else value
            case "partition.assignment.strategy":
                found[name] = ",".join(_assignor(part) for part in value.split(","))
            case "acks":
                found[name] = "all" if value == "-1" else value
            case "sasl.jaas.config":
                found.update(_credentials(value))
            case "sasl.oauthbearer.token":
                found["oauth_cb"] = _token_source(value)
            case "ssl.endpoint.identification.algorithm":
                found[name] = value.strip() or "none"
            case "ssl.keystore.location":
                found["ssl.certificate.location"] = value
                found.setdefault("ssl.key.location", value)
            case "ssl.truststore.type" | "ssl.keystore.type":
                _check_store(name, value, properties)
            case _:
                found[_RENAMED.get(name, name)] = value
    return found


def _assignor(text: str) -> str:
    name = text.strip().rpartition(".")[2]
    if name in _ASSIGNORS:
        return _ASSIGNORS[name]
    if text.strip() in _ASSIGNORS.values():
        return text.strip()
    raise CommandFailed(f"librdkafka has no assignor {text.strip()}", hint=f"it has {', '.join(_ASSIGNORS)}")


def _check_store(name: str, kind: str, properties: Mapping[str, str]) -> None:
    from barnabas.client.stores import JAVA_STORES, refuse_java_store

    if kind.strip().upper() in JAVA_STORES:
        store = name.removesuffix(".type")
        refusal = refuse_java_store(store, kind.strip().upper(), properties.get(f"{store}.location", ""))
        raise CommandFailed(refusal.message, hint=refusal.hint)


def _credentials(text: str) -> dict[str, object]:
    from barnabas.client import jaas
    from barnabas.client.errors import BadProperty

    try:
        options = jaas.parse(text).options
    except BadProperty as error:
        raise CommandFailed(error.message, hint=error.hint) from error
    if "unsecuredLoginStringClaim_sub" in options:
        return {
            "enable.sasl.oauthbearer.unsecure.jwt": "true",
            "sasl.oauthbearer.config": f"principal={options['unsecuredLoginStringClaim_sub']}",
        }
    if not {"username", "password"} <= options.keys():
        raise CommandFailed("sasl.jaas.config has no username and password", hint="set sasl.username and sasl.password")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _token_source(token: str) -> object:
    def token_and_its_end(config: str) -> tuple[str, float]:
        return token, time.time() + _TOKEN_LIFETIME_S

    return token_and_its_end
