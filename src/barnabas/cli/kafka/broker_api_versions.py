"""`barnabas kafka-broker-api-versions`: Kafka's BrokerApiVersionsCommand."""

from collections.abc import Sequence
from typing import Any

from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.client_apis import CLIENT_APIS
from barnabas.cli.kafka.options import ScriptParser, add_connection


def parser() -> ScriptParser:
    found = ScriptParser("kafka-broker-api-versions", "Show the API versions of each broker.")
    add_connection(found)
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    reader.require(options, "--bootstrap-server")
    with connect(options) as cluster:
        for broker in sorted(cluster.brokers().brokers, key=lambda broker: broker.broker_id):
            rack = broker.rack or "null"
            fenced = str(broker.is_fenced).lower()
            lines = ",\n\t".join(api_lines(cluster.api_versions(broker.broker_id)))
            where = f"{broker.host}:{broker.port} (id: {broker.broker_id} rack: {rack} isFenced: {fenced})"
            print(f"{where} -> (\n\t{lines}\n)")
    return 0


def api_lines(described: Any) -> list[str]:
    offered = {key.api_key: (key.min_version, key.max_version) for key in described.api_keys}
    known = {key: (name, lowest, highest) for key, name, lowest, highest in CLIENT_APIS}
    lines = []
    for key in sorted(offered.keys() | known.keys()):
        name, lowest, highest = known.get(key, ("UNKNOWN", 0, -1))
        if key not in offered:
            lines.append(f"{name}({key}): UNSUPPORTED")
            continue
        from_version, to_version = offered[key]
        versions = f"{from_version}" if from_version == to_version else f"{from_version} to {to_version}"
        line = f"{name}({key}): {versions}"
        if key in known:
            if highest < from_version:
                line += " [unusable: node too new]"
            elif to_version < lowest:
                line += " [unusable: node too old]"
            else:
                line += f" [usable: {min(highest, to_version)}]"
        lines.append(line)
    return lines
