"""`barnabas kafka-consumer-groups`: Kafka's ConsumerGroupCommand.

As there, what a broker refuses is printed after `Error:` on stdout, and the status stays 0; a command line that cannot
be meant ends with 1.
"""

import argparse
import sys
from collections.abc import Sequence

from barnabas.cli.errors import CommandFailed
from barnabas.cli.kafka import group_describe, group_reset
from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.group_requests import delete_group, delete_offsets, list_groups, words
from barnabas.cli.kafka.options import ScriptParser, UsageError, add_connection
from barnabas.cli.wire_client import Cluster, Partition, RequestRefused
from barnabas.wire.errors import ErrorCode

_ACTIONS = ("list", "describe", "delete", "reset_offsets", "delete_offsets", "validate_regex")
_STATES = ("Assigning", "CompletingRebalance", "PreparingRebalance", "Reconciling", "Dead", "Empty", "Stable")
_TYPES = ("Classic", "Consumer")


def parser() -> ScriptParser:
    found = ScriptParser("kafka-consumer-groups", "List, describe, reset and delete consumer groups.")
    add_connection(found)
    found.switch("--list", "list the groups")
    found.switch("--describe", "show a group's offsets, members or state")
    found.switch("--delete", "delete groups without members")
    found.switch("--delete-offsets", "delete a group's offsets of topics")
    found.switch("--reset-offsets", "change where a group without members goes on")
    found.values("--group", "the group", metavar="GROUP")
    found.switch("--all-groups", "every group")
    found.values("--topic", "a topic, or some of its partitions: name:0,1", metavar="TOPIC")
    found.switch("--all-topics", "every topic that the group has offsets of")
    found.switch("--offsets", "with --describe: offsets and lag (the default)")
    found.switch("--members", "with --describe: the members")
    found.optional_value("--state", "the state, or with --list only groups in these", metavar="STATE,...", without="")
    found.optional_value("--type", "with --list: the type, or only groups of these", metavar="TYPE,...", without="")
    found.switch("--verbose", "with --describe: more columns")
    found.value("--timeout", "how long to wait for answers", metavar="MS", type=int, default=30_000)
    found.switch("--dry-run", "with --reset-offsets: only show what would be done (the default)")
    found.switch("--execute", "with --reset-offsets: do it")
    found.switch("--export", "with --reset-offsets: print CSV")
    found.value("--from-file", "reset to the offsets of a CSV file", metavar="FILE")
    found.switch("--to-earliest", "reset to the oldest record")
    found.switch("--to-latest", "reset to the end")
    found.switch("--to-current", "reset to the committed offset")
    found.value("--to-offset", "reset to this offset", metavar="OFFSET", type=int)
    found.value("--to-datetime", "reset to a time: 2026-01-31T12:00:00.000", metavar="TIME")
    found.value("--by-duration", "reset to so long ago: PnDTnHnMnS", metavar="DURATION")
    found.value("--shift-by", "reset by so many records", metavar="N", type=int)
    found.value("--validate-regex", "say whether a regular expression is valid RE2", metavar="REGEX")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    _check(reader, options)
    if options.validate_regex is not None:
        print(_judge_regex(options.validate_regex))
        return 0
    try:
        with connect(options, timeout_s=options.timeout / 1000) as cluster:
            _act(cluster, options)
    except UsageError:
        raise
    except CommandFailed as error:
        print_error(f"Executing consumer group command failed due to {error.message}")
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
    return 0


def _act(cluster: Cluster, options: argparse.Namespace) -> None:
    if options.list:
        _list(cluster, options)
        return
    groups = [group.group_id for group in list_groups(cluster)] if options.all_groups else options.group
    if options.describe:
        group_describe.describe(cluster, groups, options)
    elif options.delete:
        _delete(cluster, groups)
    elif options.reset_offsets:
        group_reset.reset(cluster, groups, options)
    else:
        _delete_offsets(cluster, options.group[0], options.topic)


def _list(cluster: Cluster, options: argparse.Namespace) -> None:
    states = _chosen(options.state, _STATES, "state")
    types = _chosen(options.type, _TYPES, "types")
    groups = list_groups(cluster, states, types)
    if options.state is None and options.type is None:
        for group in groups:
            print(group.group_id)
        return
    width = max([15, *(len(group.group_id) for group in groups)]) + 10
    titles, rows = ["GROUP"], [[group.group_id] for group in groups]
    if options.type is not None:
        titles.append("TYPE")
        rows = [[*row, group.group_type.capitalize()] for row, group in zip(rows, groups, strict=True)]
    if options.state is not None:
        titles.append("STATE")
        rows = [[*row, group.group_state] for row, group in zip(rows, groups, strict=True)]
    layout = " ".join([f"{{:<{width}}}", *["{:<20}"] * (len(titles) - 1)])
    for row in [titles, *rows]:
        print(layout.format(*row))


def _chosen(text: str | None, known: Sequence[str], what: str) -> list[str]:
    if not text:
        return []
    by_lower = {name.lower(): name for name in known}
    wanted = [part.strip().lower() for part in text.split(",")]
    if not all(name in by_lower for name in wanted):
        raise UsageError(f"Invalid {what} list '{text}'. Valid {what.rstrip('s')}s are: {', '.join(known)}")
    return [by_lower[name] for name in wanted]


def _delete(cluster: Cluster, groups: Sequence[str]) -> None:
    results = {group: delete_group(cluster, group) for group in groups}
    failed = {group: code for group, code in results.items() if code != ErrorCode.none}
    deleted = [group for group in results if group not in failed]
    if not failed:
        print(f"Deletion of requested consumer groups ('{', '.join(deleted)}') was successful.")
        return
    print_error("Deletion of some consumer groups failed:")
    for group, code in failed.items():
        print(f"* Group '{group}' could not be deleted due to: {words(code)}")
    if deleted:
        names = ", ".join(f"'{group}'" for group in deleted)
        print(f"\nThese consumer groups were deleted successfully: {names}")


def _delete_offsets(cluster: Cluster, group: str, topics: Sequence[str]) -> None:
    known = cluster.topics([name for name in topics if ":" not in name])
    partitions: list[Partition] = []
    rows: dict[tuple[str, int | None], ErrorCode] = {}
    for text in topics:
        if ":" in text:
            partitions += group_reset.parse_partitions(text)
        elif text in known:
            partitions += [(text, partition.partition_index) for partition in known[text].partitions]
        else:
            rows[text, None] = ErrorCode.unknown_topic_or_partition
    try:
        if partitions:
            rows |= {
                (topic, index): code for (topic, index), code in delete_offsets(cluster, group, partitions).items()
            }
    except RequestRefused as error:
        whole = {
            ErrorCode.group_id_not_found: f"'{group}' does not exist.",
            ErrorCode.invalid_group_id: f"'{group}' is not valid.",
            ErrorCode.non_empty_group: f"Deleting offsets of a consumer group '{group}' is forbidden if the group is "
            "not empty.",
        }
        print_error(whole.get(error.code, f"Encountered some unknown error: {error.message}"))
        rows.update(dict.fromkeys(partitions, error.code))
    else:
        if any(rows[place] != ErrorCode.none for place in partitions):
            print_error("Encountered some partition-level error, see the follow-up details.")
        else:
            print(f"Request succeeded for deleting offsets from group {group}.")
    width = max([15, *(len(topic) for topic, _ in rows)])
    print(f"\n{'TOPIC':<{width}} {'PARTITION':<10} {'STATUS':<15}")
    for (topic, index), code in sorted(
        rows.items(), key=lambda row: (row[0][0], -1 if row[0][1] is None else row[0][1])
    ):
        status = "Successful" if code == ErrorCode.none else f"Error: {words(code)}"
        print(f"{topic:<{width}} {'-' if index is None else index:<10} {status:<15}")


def _judge_regex(text: str) -> str:
    from barnabas.coordinator.group.consumer.regex import compile_regex
    from barnabas.wire.errors import InvalidRegularExpression

    try:
        compile_regex(text)
    except InvalidRegularExpression as error:
        return f"The regular expression `{text}` is invalid: {str(error).rpartition('expression: ')[2]}"
    return f"The regular expression `{text}` is valid."


def print_error(message: str) -> None:
    print(f"\nError: {message}")


def _check(reader: ScriptParser, options: argparse.Namespace) -> None:
    actions = [action for action in _ACTIONS if getattr(options, action) not in (False, None)]
    if len(actions) != 1:
        reader.error(
            "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-offsets, "
            "--validate-regex"
        )
    if options.validate_regex is not None:
        return
    reader.require(options, "--bootstrap-server")
    chosen = bool(options.group) or options.all_groups
    if (options.describe or options.delete or options.reset_offsets) and not chosen:
        reader.error(f"Option --{actions[0].replace('_', '-')} takes one of these options: --group, --all-groups")
    if options.group and options.all_groups:
        reader.error("--group and --all-groups exclude each other")
    if options.group and options.list:
        reader.error("--group does not go with --list")
    if options.topic and not (options.reset_offsets or options.delete_offsets):
        reader.error("--topic goes with --reset-offsets and --delete-offsets only")
    if options.describe:
        if sum([options.members, options.offsets, options.state is not None]) > 1:
            reader.error("Option --describe takes at most one of these options: --members, --offsets, --state")
        if options.state:
            reader.error("Option --describe does not take a value for --state")
    if options.delete_offsets and not (len(options.group) == 1 and options.topic):
        reader.error("Option --delete-offsets takes the following options: --group, --topic")
    if options.reset_offsets:
        group_reset.check(reader, options)
