"""What kafka-consumer-groups and kafka-share-groups have in common."""

import argparse
from collections.abc import Callable, Mapping, Sequence

from barnabas.cli.errors import CommandFailed, show_hint
from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.options import ScriptParser, UsageError, add_connection
from barnabas.cli.wire_client import Cluster


def group_parser(name: str, *, kind: str, noun: str, reset: str) -> ScriptParser:
    """With the options that both scripts have."""
    found = ScriptParser(name, f"List, describe, reset and delete {kind} groups.")
    add_connection(found)
    found.switch("--list", f"list the {noun}s")
    found.switch("--describe", "show a group's offsets, members or state")
    found.switch("--delete", "delete groups without members")
    found.switch("--delete-offsets", "delete a group's offsets of topics")
    found.switch("--reset-offsets", f"change where a group without members {reset}")
    found.values("--group", "the group", metavar="GROUP")
    found.switch("--all-groups", f"every {noun}")
    found.values("--topic", "a topic, or some of its partitions: name:0,1", metavar="TOPIC")
    found.switch("--all-topics", "all topics of the group's offsets")
    found.switch("--offsets", "with --describe: offsets and lag (the default)")
    found.switch("--members", "with --describe: the members")
    found.optional_value("--state", "the state, or with --list only groups in these", metavar="STATE,...", without="")
    return found


def check_details(reader: ScriptParser, options: argparse.Namespace) -> None:
    """Checks the options of --describe and --delete-offsets."""
    if options.describe:
        if sum([options.members, options.offsets, options.state is not None]) > 1:
            reader.error("Option --describe takes at most one of these options: --members, --offsets, --state")
        if options.state:
            reader.error("Option --describe does not take a value for --state")
    if options.delete_offsets and not (len(options.group) == 1 and options.topic):
        reader.error("Option --delete-offsets takes the following options: --group, --topic")


def act_on_groups(kind: str, options: argparse.Namespace, act: Callable[[Cluster, argparse.Namespace], None]) -> None:
    try:
        with connect(options, timeout_s=options.timeout / 1000) as cluster:
            act(cluster, options)
    except UsageError:
        raise
    except CommandFailed as error:
        print_error(f"Executing {kind} group command failed due to {error.message}")
        show_hint(error)


def chosen(text: str | None, known: Sequence[str], what: str) -> list[str]:
    if not text:
        return []
    by_lower = {name.lower(): name for name in known}
    wanted = [part.strip().lower() for part in text.split(",")]
    if not all(name in by_lower for name in wanted):
        raise UsageError(f"Invalid {what} list '{text}'. Valid {what.rstrip('s')}s are: {', '.join(known)}")
    return [by_lower[name] for name in wanted]


def print_undeleted(kind: str, failed: Mapping[str, str], deleted: Sequence[str]) -> None:
    print_error(f"Deletion of some {kind} groups failed:")
    for group, why in failed.items():
        print(f"* Group '{group}' could not be deleted due to: {why}")
    if deleted:
        print(f"\nThese {kind} groups were deleted successfully: {quoted(deleted)}")


def quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def print_error(message: str) -> None:
    print(f"\nError: {message}")
