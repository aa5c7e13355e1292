"""The Java client's settings, as they come in property files and `--command-property`, in librdkafka's words.

Most names are the same. Some differ, some have no counterpart and change nothing that a script could see; what is left
goes to librdkafka as it is, which says so if it knows no such setting.
"""

from collections.abc import Mapping

from barnabas.cli.errors import CommandFailed

_RENAMED = {
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "sasl.mechanism": "sasl.mechanism",
}

# How the Java client works inside: nothing that librdkafka would do differently for it.
_IGNORED = frozenset(
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
    }
)

_ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


def to_librdkafka(properties: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
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
            case _:
                found[_RENAMED.get(name, name)] = value
    return found


def as_pairs(properties: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in properties.items()]


def _assignor(text: str) -> str:
    name = text.strip().rpartition(".")[2]
    if name in _ASSIGNORS:
        return _ASSIGNORS[name]
    if text.strip() in _ASSIGNORS.values():
        return text.strip()
    raise CommandFailed(f"librdkafka has no assignor {text.strip()}", hint=f"it has {', '.join(_ASSIGNORS)}")


def _credentials(jaas: str) -> dict[str, str]:
    import re

    found = dict(re.findall(r'(\w+)\s*=\s*"?([^";\s]*)"?', jaas))
    if not {"username", "password"} <= found.keys():
        raise CommandFailed("sasl.jaas.config has no username and password", hint="set sasl.username and sasl.password")
    return {"sasl.username": found["username"], "sasl.password": found["password"]}
