"""`barnabas config`: get, set and unset the settings of topics and brokers.

One of `--topic NAME`, `--broker ID` and `--broker-default` (all brokers) says whose settings.
"""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from barnabas.cli.apps import group_app
from barnabas.cli.cluster_access import ClusterAccess
from barnabas.cli.connected import connected
from barnabas.cli.connection import unknown_topic
from barnabas.cli.errors import CommandFailed, suggestion
from barnabas.cli.options import Format, OutputFormat
from barnabas.cli.output import plural, print_rows, say
from barnabas.cli.pairs import parse_settings

if TYPE_CHECKING:
    from barnabas.cli.wire_client import Cluster

app = group_app("config")

Topic = Annotated[str | None, typer.Option("--topic", "-t", metavar="TOPIC", help="A topic's settings.")]
Broker = Annotated[int | None, typer.Option("--broker", metavar="ID", help="A broker's settings.")]
BrokerDefault = Annotated[bool, typer.Option("--broker-default", help="The settings of all brokers.")]

_TOPIC, _BROKER = 2, 4
_DEFAULT_SOURCE = 5
_BROKER_DEFAULT_SOURCE = 3
_LISTED_ONLY_IF_SET = ("barnabas.", "internal.")
"""A broker does not list these among the settings that there are; if it does not have one, it says so."""


class _Target(NamedTuple):
    kind: int
    name: str

    def __str__(self) -> str:
        if self.kind == _TOPIC:
            return f"topic {self.name}"
        return f"broker {self.name}" if self.name else "all brokers"

    def flag(self) -> str:
        if self.kind == _TOPIC:
            return f"--topic {self.name}"
        return f"--broker {self.name}" if self.name else "--broker-default"


@app.command()
@connected
def get(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these settings.")] = None,
    topic: Topic = None,
    broker: Broker = None,
    broker_default: BrokerDefault = False,
    show_all: Annotated[bool, typer.Option("--all", "-a", help="Also show settings that were never changed.")] = False,
    output_format: OutputFormat = Format.table,
    *,
    access: ClusterAccess,
) -> None:
    """Show the settings that were changed, or the named ones."""
    target = _target(topic, broker, broker_default)
    with _connect(access) as cluster:
        found = _entries(cluster, target)
    wanted = set(names or ())
    if unknown := sorted(wanted - found.keys()):
        raise _unknown_setting(unknown[0], list(found), target)
    rows = [
        _row(entry)
        for name, entry in sorted(found.items())
        if name in wanted or (not wanted and (show_all or _is_changed(entry)))
    ]
    empty = f"No setting of {target} was changed. See all of them with: barnabas config get {target.flag()} --all"
    print_rows(rows, ["name", "value", "source"], output_format, empty=empty)


@app.command("set")
@connected
def set_(
    settings: Annotated[list[str], typer.Argument(metavar="NAME=VALUE...", help="What to set.")],
    topic: Topic = None,
    broker: Broker = None,
    broker_default: BrokerDefault = False,
    *,
    access: ClusterAccess,
) -> None:
    """Change settings. They take effect at once."""
    target = _target(topic, broker, broker_default)
    _alter(access, target, parse_settings("barnabas config set", settings), [])
    say(f"Set {plural(len(settings), 'setting')} of {target}")


@app.command()
@connected
def unset(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Settings to reset.")],
    topic: Topic = None,
    broker: Broker = None,
    broker_default: BrokerDefault = False,
    *,
    access: ClusterAccess,
) -> None:
    """Reset settings to their defaults."""
    target = _target(topic, broker, broker_default)
    _alter(access, target, {}, names)
    say(f"Unset {plural(len(names), 'setting')} of {target}")


def _target(topic: str | None, broker: int | None, broker_default: bool) -> _Target:
    if sum([topic is not None, broker is not None, broker_default]) != 1:
        raise CommandFailed(
            "no topic and no broker is given", hint="give one of --topic NAME, --broker ID and --broker-default"
        )
    if topic is not None:
        return _Target(_TOPIC, topic)
    return _Target(_BROKER, "" if broker is None else str(broker))


def _connect(access: ClusterAccess) -> "Cluster":
    from barnabas.cli.wire_client import Cluster

    return Cluster.to(access)


def _alter(access: ClusterAccess, target: _Target, changes: dict[str, str], deletions: list[str]) -> None:
    from barnabas.cli.kafka.resource_configs import alter_resource

    with _connect(access) as cluster:
        known = list(_entries(cluster, target))
        if target.name:  # the default of all brokers lists only what was set there
            for name in (*changes, *deletions):
                if name not in known and not name.startswith(_LISTED_ONLY_IF_SET):
                    raise _unknown_setting(name, known, target)
        alter_resource(cluster, target.kind, target.name, changes, deletions)


def _entries(cluster: "Cluster", target: _Target) -> dict[str, Any]:
    from barnabas.cli.kafka.resource_configs import describe_resources

    if target.kind == _TOPIC and target.name not in cluster.topics([target.name]):
        raise unknown_topic(target.name, list(cluster.topics()))
    found = describe_resources(cluster, target.kind, [target.name])[target.name]
    return {entry.name: entry for entry in found}


def _row(entry: Any) -> dict[str, object]:
    from barnabas.cli.kafka.resource_configs import SOURCES

    source = SOURCES[entry.config_source].removesuffix("_CONFIG").lower().replace("_", " ")
    return {"name": entry.name, "value": entry.value, "source": source, "read_only": entry.read_only}


def _unknown_setting(name: str, known: list[str], target: _Target) -> CommandFailed:
    see_all = f"run barnabas config get {target.flag()} --all to see all settings"
    return CommandFailed(f"{target} has no setting {name}", hint=suggestion(name, known, see_all))


def _is_changed(entry: Any) -> bool:
    """A broker-wide setting with the default value does not count as changed."""
    if entry.config_source == _BROKER_DEFAULT_SOURCE and entry.synonyms:
        last = entry.synonyms[-1]
        return bool(last.source != _DEFAULT_SOURCE or last.value != entry.value)
    return bool(entry.config_source != _DEFAULT_SOURCE)
