"""`barnabas kafka-groups`: Kafka's GroupsCommand. Lists groups of all types."""

import argparse
from collections.abc import Sequence
from typing import Any, Final

from barnabas.cli.errors import CommandFailed, show_hint
from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.group_requests import CONSUMER_PROTOCOL, list_all_groups
from barnabas.cli.kafka.options import ScriptParser, UsageError, add_connection

_TYPES: Final = ("classic", "consumer", "share", "streams")
_WIDTH_MIN: Final = 20


def parser() -> ScriptParser:
    found = ScriptParser("kafka-groups", "List groups of all types.")
    add_connection(found)
    found.switch("--list", "list the groups")
    found.value("--group-type", "only groups of this type: classic, consumer, share or streams", metavar="TYPE")
    found.value("--protocol", "only groups with this protocol type", metavar="PROTOCOL")
    found.switch("--consumer", "only groups of consumers, of whatever type")
    found.switch("--share", "only share groups")
    found.switch("--streams", "only streams groups")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    _check(reader, options)
    try:
        with connect(options) as cluster:
            _print([group for group in list_all_groups(cluster) if _is_wanted(group, options)])
    except UsageError:
        raise
    except CommandFailed as error:
        print(f"Error while executing groups command : {error.message}")
        show_hint(error)
        return 1
    return 0


def _check(reader: ScriptParser, options: argparse.Namespace) -> None:
    if not options.list:
        reader.error("Command must include exactly one action: --list.")
    reader.require(options, "--bootstrap-server")
    if options.group_type is not None and options.group_type.lower() not in _TYPES:
        reader.error("--group-type must be a valid group type.")
    kinds = [name for name in ("consumer", "share", "streams") if getattr(options, name)]
    filters = [name for name in ("group_type", "protocol") if getattr(options, name) is not None]
    if len(kinds) > 1 or (kinds and filters):
        reader.error(f"Option --{kinds[0]} cannot be combined with other filters")


def _is_wanted(group: Any, options: argparse.Namespace) -> bool:
    kind, protocol = group.group_type.lower(), group.protocol_type
    if options.group_type is not None or options.protocol is not None:
        return (options.group_type is None or kind == options.group_type.lower()) and (
            options.protocol is None or protocol == options.protocol
        )
    if options.consumer:
        return protocol in ("", CONSUMER_PROTOCOL) or kind == "consumer"
    if options.share:
        return bool(kind == "share")
    return not options.streams or bool(kind == "streams")


def _print(groups: Sequence[Any]) -> None:
    rows = [[group.group_id, group.group_type.capitalize(), group.protocol_type] for group in groups]
    width = max([_WIDTH_MIN, *(len(cell) for row in rows for cell in row)])
    titles = ["GROUP", "TYPE", "PROTOCOL"]
    print(" ".join(f"{title:<{width}}" for title in titles))
    for row in rows:
        print("".join(f"{cell:<{width}} " for cell in row))
