"""`barnabas kafka-configs`: Kafka's ConfigCommand, for topics, brokers and other resources, quotas and credentials."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from barnabas.cli.kafka import client_quotas
from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.group_requests import list_groups
from barnabas.cli.kafka.options import ScriptParser, UsageError, add_connection
from barnabas.cli.kafka.resource_configs import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    SOURCES,
    TOPIC,
    alter_resource,
    describe_resources,
    list_resources,
)
from barnabas.cli.property_file import read_property_file
from barnabas.cli.wire_client import Cluster

BROKER_DEFAULT = ""


class _Kind(NamedTuple):
    number: int
    own_source: int
    """Set on the entity itself, not inherited."""


_KINDS = {
    "topics": _Kind(TOPIC, 1),
    "brokers": _Kind(BROKER, 2),
    "broker-loggers": _Kind(BROKER_LOGGER, 6),
    "client-metrics": _Kind(CLIENT_METRICS, 7),
    "groups": _Kind(GROUP, 8),
}
_DEFAULT_BROKER_SOURCE = 3
_OUTSIDE_BRACKETS = r"(?=[^\]]*(?:\[|$))"


class Entity(NamedTuple):
    kind: str
    name: str | None
    """None: all of that kind; BROKER_DEFAULT: the default of all brokers."""


def parser() -> ScriptParser:
    found = ScriptParser("kafka-configs", "Describe and change the settings of topics and brokers.")
    add_connection(found)
    found.switch("--describe", "show settings")
    found.switch("--alter", "change settings")
    found.switch("--all", "with --describe: also what is inherited")
    found.values(
        "--entity-type",
        "topics, brokers, broker-loggers, client-metrics, groups, users, clients or ips",
        metavar="TYPE",
    )
    found.values("--entity-name", "the name of the entity, or the id of the broker", metavar="NAME")
    found.switch("--entity-default", "the default of all brokers, users, clients or addresses")
    found.value("--add-config", "settings to add: a=1,b=[x,y]", metavar="NAME=VALUE,...")
    found.value("--add-config-file", "a properties file with settings to add", metavar="FILE")
    found.values("--delete-config", "settings to remove: a,b", metavar="NAME,...")
    for flag, kind in (("user", "users"), ("client", "clients"), ("ip", "ips")):
        found.value(f"--{flag}", f"same as --entity-type {kind} --entity-name", metavar="NAME")
        found.switch(f"--{flag}-defaults", f"same as --entity-type {kind} --entity-default")
    found.value("--topic", "same as --entity-type topics --entity-name", metavar="TOPIC")
    found.value("--broker", "same as --entity-type brokers --entity-name", metavar="ID")
    found.switch("--broker-defaults", "same as --entity-type brokers --entity-default")
    found.value("--broker-logger", "same as --entity-type broker-loggers --entity-name", metavar="ID")
    found.value("--client-metrics", "same as --entity-type client-metrics --entity-name", metavar="NAME")
    found.value("--group", "same as --entity-type groups --entity-name", metavar="GROUP")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    if options.describe == options.alter:
        reader.error("Command must include exactly one action: --describe, --alter")
    reader.require(options, "--bootstrap-server")
    additions = _additions(reader, options) if options.alter else {}
    kinds = _quota_kinds(reader, options)
    if kinds:
        return _quotas(reader, options, kinds, arguments, additions)
    entity = _entity(reader, options)
    with connect(options) as cluster:
        if options.alter:
            _alter(cluster, entity, additions, _deletions(options))
        else:
            _describe(cluster, entity, options)
    return 0


def _quota_kinds(reader: ScriptParser, options: argparse.Namespace) -> list[str]:
    """The types of a quota's entity; none for other resources."""
    short = [
        kind
        for kind, flag in (("users", "user"), ("clients", "client"), ("ips", "ip"))
        if getattr(options, flag) is not None or getattr(options, f"{flag}_defaults")
    ]
    named = [kind for kind in options.entity_type if kind in client_quotas.TYPES]
    if short and (options.entity_type or options.entity_name or options.entity_default):
        reader.error(
            "--entity-type, --entity-name and --entity-default cannot be combined with --user, --client and --ip"
        )
    if named and len(named) != len(options.entity_type):
        reader.error("users, clients and ips cannot be combined with other entity types")
    kinds = short or named
    if ("ips" in kinds and len(kinds) > 1) or len(set(kinds)) < len(kinds):
        reader.error("users and clients may be combined, once each; ips may not")
    return kinds


def _quotas(
    reader: ScriptParser,
    options: argparse.Namespace,
    kinds: list[str],
    arguments: Sequence[str],
    additions: dict[str, str],
) -> int:
    entity: dict[str, str | None] = {}
    if options.entity_type:
        names = entity_names(arguments)
        if len(names) > len(kinds) or (options.alter and len(names) < len(kinds)):
            reader.error("An entity name or --entity-default must be specified for every entity type")
        entity = dict(zip(kinds, names, strict=False))
    else:
        given = {"users": options.user, "clients": options.client, "ips": options.ip}
        entity = {kind: given[kind] for kind in kinds}
    with connect(options) as cluster:
        if options.describe:
            client_quotas.describe(cluster, kinds, entity)
            return 0
        client_quotas.alter(cluster, entity, additions, _deletions(options))
    first, name = next(iter(entity.items()))
    if name is None:
        print(f"Completed updating default config for {first} in the cluster.")
    else:
        print(f"Completed updating config for {first.removesuffix('s')} {name}.")
    return 0


def entity_names(arguments: Sequence[str]) -> list[str | None]:
    """The values of --entity-name, and None for each --entity-default, in the order in which they were typed."""
    names: list[str | None] = []
    for position, word in enumerate(arguments):
        if word == "--entity-default":
            names.append(None)
        elif word == "--entity-name" and position + 1 < len(arguments):
            names.append(arguments[position + 1])
        elif word.startswith("--entity-name="):
            names.append(word.partition("=")[2])
    return names


def _describe(cluster: Cluster, entity: Entity, options: argparse.Namespace) -> None:
    for name in [entity.name] if entity.name is not None else _names(cluster, entity.kind):
        if entity.kind == "topics" and name not in cluster.topics([name]):
            print(f"The {entity.kind[:-1]} '{name}' doesn't exist and doesn't have dynamic config.")
            continue
        if name == BROKER_DEFAULT:
            print(f"Default configs for {entity.kind} in the cluster are:")
        else:
            print(f"{'All' if options.all else 'Dynamic'} configs for {entity.kind.removesuffix('s')} {name} are:")
        for entry in entries(cluster, entity.kind, name, inherited=options.all):
            synonyms = ", ".join(f"{SOURCES[one.source]}:{one.name}={_text(one.value)}" for one in entry.synonyms)
            sensitive = str(entry.is_sensitive).lower()
            print(f"  {entry.name}={_text(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}")


def entries(cluster: Cluster, kind: str, name: str, *, inherited: bool) -> list[Any]:
    own = _DEFAULT_BROKER_SOURCE if kind == "brokers" and name == BROKER_DEFAULT else _KINDS[kind].own_source
    found = describe_resources(cluster, _KINDS[kind].number, [name])[name]
    return sorted(
        (entry for entry in found if inherited or entry.config_source == own), key=lambda entry: str(entry.name)
    )


def _alter(cluster: Cluster, entity: Entity, additions: dict[str, str], deletions: list[str]) -> None:
    name = entity.name or BROKER_DEFAULT
    alter_resource(cluster, _KINDS[entity.kind].number, name, additions, deletions)
    if name:
        print(f"Completed updating config for {entity.kind.removesuffix('s')} {name}.")
    else:
        print(f"Completed updating default config for {entity.kind} in the cluster.")


def _names(cluster: Cluster, kind: str) -> list[str]:
    match kind:
        case "topics":
            return sorted(cluster.topics())
        case "groups":
            return sorted({group.group_id for group in list_groups(cluster)} | set(list_resources(cluster, GROUP)))
        case "client-metrics":
            return list_resources(cluster, CLIENT_METRICS)
        case _:
            brokers = sorted(broker.broker_id for broker in cluster.brokers().brokers)
            return [*map(str, brokers), *([BROKER_DEFAULT] if kind == "brokers" else [])]


def _entity(reader: ScriptParser, options: argparse.Namespace) -> Entity:
    short = [
        Entity(kind, value)
        for kind, value in (
            ("topics", options.topic),
            ("brokers", options.broker),
            ("broker-loggers", options.broker_logger),
            ("client-metrics", options.client_metrics),
            ("groups", options.group),
            ("brokers", BROKER_DEFAULT if options.broker_defaults else None),
        )
        if value is not None
    ]
    if short and (options.entity_type or options.entity_name or options.entity_default):
        reader.error(
            "--entity-type, --entity-name and --entity-default cannot be combined with --topic, --broker and the like"
        )
    if len(short) > 1 or len(options.entity_type) > 1:
        reader.error("one entity at a time")
    if short:
        return _checked(reader, short[0])
    if not options.entity_type:
        reader.error("At least one entity must be specified: --entity-type, or --topic, --broker, ...")
    (kind,) = options.entity_type
    if kind not in _KINDS:
        reader.error(f"Invalid entity type {kind}, the entity type must be one of {', '.join(_KINDS)}")
    if options.entity_default and (options.entity_name or kind != "brokers"):
        reader.error("--entity-default needs --entity-type brokers, and no --entity-name")
    if options.alter and not options.entity_name and not options.entity_default:
        reader.error("An entity name must be specified for every entity type")
    name = BROKER_DEFAULT if options.entity_default else (options.entity_name or [None])[0]
    return _checked(reader, Entity(kind, name))


def _checked(reader: ScriptParser, entity: Entity) -> Entity:
    if entity.kind in ("brokers", "broker-loggers") and entity.name and not entity.name.isdecimal():
        reader.error(f"The entity name for {entity.kind} must be a valid integer broker id, found: {entity.name}")
    return entity


def _additions(reader: ScriptParser, options: argparse.Namespace) -> dict[str, str]:
    if options.add_config is not None and options.add_config_file is not None:
        reader.error("Only one of --add-config or --add-config-file must be specified")
    if options.add_config is None and options.add_config_file is None and not options.delete_config:
        reader.error(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    if options.add_config_file is not None:
        return read_property_file(options.add_config_file)
    return parse_additions(options.add_config or "")


def parse_additions(text: str) -> dict[str, str]:
    """`a=1,b=[x,y]`: a comma in brackets belongs to the value."""
    found = {}
    for pair in re.split("," + _OUTSIDE_BRACKETS, text) if text else []:
        parts = re.split(r"\s*=\s*" + _OUTSIDE_BRACKETS, pair)
        if len(parts) != 2:
            raise UsageError(
                'Invalid entity config: all configs to be added must be in the format "key=val".',
                hint="write --add-config retention.ms=60000, or cleanup.policy=[compact,delete]",
            )
        name, value = parts[0].strip(), re.sub(r"[\[\]]", "", parts[1]).strip()
        if not re.fullmatch(r"[a-zA-Z0-9._-]*", name):
            raise UsageError(f"Invalid character found for config key: {name}")
        found[name] = value
    return found


def _deletions(options: argparse.Namespace) -> list[str]:
    return [name.strip() for text in options.delete_config for name in text.split(",") if name.strip()]


def _text(value: str | None) -> str:
    return "null" if value is None else value
