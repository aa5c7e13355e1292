"""`barnabas kafka-consumer-groups`: Kafka's ConsumerGroupCommand.

As there, what a broker refuses is printed after `Error:` on stdout, and the status stays 0; a command line that cannot
be meant ends with 1.
"""

import argparse
from collections.abc import Sequence

from barnabas.cli.kafka import group_describe, group_reset
from barnabas.cli.kafka.group_requests import delete_group, delete_offsets, list_groups, words
from barnabas.cli.kafka.group_script import (
    act_on_groups,
    check_details,
    chosen,
    group_parser,
    print_error,
    print_undeleted,
)
from barnabas.cli.kafka.options import ScriptParser
from barnabas.cli.wire_client import Cluster, Partition, RequestRefused
from barnabas.wire.errors import ErrorCode

_ACTIONS = ("list", "describe", "delete", "reset_offsets", "delete_offsets", "validate_regex")
_STATES = ("Assigning", "CompletingRebalance", "PreparingRebalance", "Reconciling", "Dead", "Empty", "Stable")
_TYPES = ("Classic", "Consumer")


def parser() -> ScriptParser:
    found = group_parser("kafka-consumer-groups", kind="consumer", noun="group", reset="goes on")
    found.optional_value("--type", "with --list: the type, or only groups of these", metavar="TYPE,...", without="")
    found.switch("--verbose", "with --describe: more columns")
    found.value("--timeout", "how long to wait for responses", metavar="MS", type=int, default=30_000)
    found.switch("--dry-run", "with --reset-offsets: only show what would be done (the default)")
    found.switch("--execute", "with --reset-offsets: do it")
    found.switch("--export", "with --reset-offsets: print CSV")
    found.value("--from-file", "reset to the offsets of a CSV file", metavar="FILE")
    found.switch("--to-earliest", "reset to the oldest record")
    found.switch("--to-latest", "reset to the end")
    found.switch("--to-current", "reset to the committed offset")
    found.value("--to-offset", "reset to this offset", metavar="OFFSET", type=int)
    found.value("--to-datetime", "reset to a time: 2026-01-31T12:00:00.000", metavar="TIME")
    found.value("--by-duration", "reset to this long ago: PnDTnHnMnS", metavar="DURATION")
    found.value("--shift-by", "reset by this many records", metavar="N", type=int)
    found.value("--validate-regex", "say whether a regular expression is valid RE2", metavar="REGEX")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    _check(reader, options)
    if options.validate_regex is not None:
        print(_judge_regex(options.validate_regex))
        return 0
    act_on_groups("consumer", options, _act)
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
    states = chosen(options.state, _STATES, "state")
    types = chosen(options.type, _TYPES, "types")
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


def _delete(cluster: Cluster, groups: Sequence[str]) -> None:
    results = {group: delete_group(cluster, group) for group in groups}
    failed = {group: code for group, code in results.items() if code != ErrorCode.none}
    deleted = [group for group in results if group not in failed]
    if not failed:
        print(f"Deletion of requested consumer groups ('{', '.join(deleted)}') was successful.")
        return
    print_undeleted("consumer", {group: words(code) for group, code in failed.items()}, deleted)


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
    from barnabas.coordinator.core.regex import compile_regex
    from barnabas.wire.errors import InvalidRegularExpression

    try:
        compile_regex(text)
    except InvalidRegularExpression as error:
        return f"The regular expression `{text}` is invalid: {str(error).rpartition('expression: ')[2]}"
    return f"The regular expression `{text}` is valid."


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
    names_groups = bool(options.group) or options.all_groups
    if (options.describe or options.delete or options.reset_offsets) and not names_groups:
        reader.error(f"Option --{actions[0].replace('_', '-')} takes one of these options: --group, --all-groups")
    if options.group and options.all_groups:
        reader.error("--group and --all-groups cannot be combined")
    if options.group and options.list:
        reader.error("--group cannot be combined with --list")
    if options.topic and not (options.reset_offsets or options.delete_offsets):
        reader.error("--topic can only be used with --reset-offsets and --delete-offsets")
    check_details(reader, options)
    if options.reset_offsets:
        group_reset.check(reader, options)
