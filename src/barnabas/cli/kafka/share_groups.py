"""`barnabas kafka-share-groups`: Kafka's ShareGroupCommand.

As there, what a broker refuses is printed after `Error:` on stdout and the status stays 0, except for a reset of a
group that has members, which ends with 1; so does a wrong command line.
"""

import argparse
import sys
from collections.abc import Sequence

from barnabas.cli.kafka.group_describe import assignment_text, layout_of
from barnabas.cli.kafka.group_requests import delete_group, words
from barnabas.cli.kafka.group_reset import (
    offsets_at,
    offsets_at_time,
    print_plans,
    topic_partitions,
)
from barnabas.cli.kafka.group_script import (
    act_on_groups,
    check_details,
    chosen,
    group_parser,
    print_error,
    print_undeleted,
    quoted,
)
from barnabas.cli.kafka.options import ScriptParser, UsageError
from barnabas.cli.kafka.share_requests import (
    ShareGroup,
    ShareOffset,
    alter_share_offsets,
    delete_share_offsets,
    describe_share_group,
    list_share_groups,
    share_offsets,
)
from barnabas.cli.quantities import time_ms
from barnabas.cli.wire_client import EARLIEST, LATEST, Cluster, Partition, RequestRefused
from barnabas.wire.errors import ErrorCode

_ACTIONS = ("list", "describe", "delete", "reset_offsets", "delete_offsets")
_SCENARIOS = ("to_datetime", "to_earliest", "to_latest")
_STATES = ("Empty", "Stable", "Dead")
_MISSING = "-"


def parser() -> ScriptParser:
    found = group_parser("kafka-share-groups", kind="share", noun="share group", reset="begins")
    found.switch("--verbose", "with --describe: more columns")
    found.value("--timeout", "how long to wait for responses", metavar="MS", type=int, default=30_000)
    found.switch("--dry-run", "with --reset-offsets: only show what would be done")
    found.switch("--execute", "with --reset-offsets: do it")
    found.switch("--to-earliest", "reset to the oldest record")
    found.switch("--to-latest", "reset to the end")
    found.value("--to-datetime", "reset to a time: 2026-01-31T12:00:00.000", metavar="TIME")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    _check(reader, options)
    act_on_groups("share", options, _act)
    return 0


def _act(cluster: Cluster, options: argparse.Namespace) -> None:
    if options.list:
        _list(cluster, options.state)
    elif options.describe:
        names = [group.group_id for group in list_share_groups(cluster)] if options.all_groups else options.group
        for name in sorted(names):
            _describe(cluster, describe_share_group(cluster, name), options)
    elif options.delete:
        _delete(cluster, options)
    elif options.reset_offsets:
        _reset(cluster, options.group[0], options)
    else:
        _delete_offsets(cluster, options.group[0], options.topic)


def _list(cluster: Cluster, state: str | None) -> None:
    groups = list_share_groups(cluster, chosen(state, _STATES, "state"))
    if state is None:
        for group in groups:
            print(group.group_id)
        return
    width = max([15, *(len(group.group_id) for group in groups)])
    print(f"{'GROUP':<{width}} STATE")
    for group in groups:
        print(f"{group.group_id:<{width}} {group.group_state}")


def _describe(cluster: Cluster, group: ShareGroup, options: argparse.Namespace) -> None:
    sys.stdout.flush()
    if options.members:
        if not group.members:
            print(f"\nShare group '{group.group_id}' has no active members.", file=sys.stderr)
            return
        _print_members(group, verbose=options.verbose)
    elif options.state is not None:
        _print_state(group, verbose=options.verbose)
    else:
        _print_offsets(group.group_id, share_offsets(cluster, group.group_id), verbose=options.verbose)


def _print_offsets(name: str, offsets: dict[Partition, ShareOffset], *, verbose: bool) -> None:
    if not offsets:
        print(f"\nShare group '{name}' has no offset information.")
        return
    titles = ["GROUP", "TOPIC", "PARTITION", "START-OFFSET"]
    widths = [15, 15, 10, 13]
    rows = [[name, topic, str(index), _cell(found.start_offset)] for (topic, index), found in sorted(offsets.items())]
    if verbose:
        titles.insert(3, "LEADER-EPOCH")
        widths.insert(3, 13)
        for row, (_, found) in zip(rows, sorted(offsets.items()), strict=True):
            row.insert(3, _cell(found.leader_epoch))
    layout = layout_of(widths, rows)
    print("\n" + layout.format(*titles) + " LAG")
    for row, (_, found) in zip(rows, sorted(offsets.items()), strict=True):
        print(f"{layout.format(*row)} {_cell(found.lag)}")


def _print_members(group: ShareGroup, *, verbose: bool) -> None:
    titles = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    widths = [15, 15, 15, 15, 12]
    members = sorted(group.members, key=lambda member: member.member_id)
    rows = [
        [group.group_id, member.member_id, member.host, member.client_id, str(len(member.partitions))]
        for member in members
    ]
    if verbose:
        titles.append("MEMBER-EPOCH")
        widths.append(13)
        for row, member in zip(rows, members, strict=True):
            row.append(str(member.member_epoch))
    layout = layout_of(widths, rows)
    print("\n" + layout.format(*titles) + " ASSIGNMENT")
    for row, member in zip(rows, members, strict=True):
        print(f"{layout.format(*row)} {assignment_text(member.partitions)}")


def _print_state(group: ShareGroup, *, verbose: bool) -> None:
    where = f"{group.coordinator.host}:{group.coordinator.port}  ({group.coordinator.node_id})"
    titles, widths = ["GROUP", "COORDINATOR (ID)", "STATE"], [15, 25, 15]
    row = [group.group_id, where, group.state]
    if verbose:
        titles += ["GROUP-EPOCH", "ASSIGNMENT-EPOCH"]
        widths += [12, 17]
        row += [str(group.group_epoch), str(group.assignment_epoch)]
    layout = layout_of(widths, [row])
    print("\n" + layout.format(*titles) + " #MEMBERS")
    print(f"{layout.format(*row)} {len(group.members)}")


def _delete(cluster: Cluster, options: argparse.Namespace) -> None:
    known = {group.group_id: group.group_state for group in list_share_groups(cluster)}
    failed: dict[str, str] = {}
    deleted: list[str] = []
    for name in dict.fromkeys(known if options.all_groups else options.group):
        if name not in known:
            failed[name] = f"Group '{name}' is not a share group."
        elif known[name] != "Empty":
            failed[name] = f"Share group '{name}' is not EMPTY."
        elif (code := delete_group(cluster, name)) != ErrorCode.none:
            failed[name] = words(code)
        else:
            deleted.append(name)
    if failed:
        print_undeleted("share", failed, deleted)
    else:
        print(f"Deletion of requested share groups ({quoted(deleted)}) was successful.")


def _delete_offsets(cluster: Cluster, group: str, topics: Sequence[str]) -> None:
    try:
        results = delete_share_offsets(cluster, group, topics)
    except RequestRefused as error:
        print_error(error.message)
        results = dict.fromkeys(topics, error.message)
    width = max([15, *map(len, results)])
    print(f"\n{'TOPIC':<{width}} STATUS")
    for topic, why in sorted(results.items()):
        print(f"{topic:<{width}} {'Successful' if why is None else f'Error: {why}'}")


def _reset(cluster: Cluster, group: str, options: argparse.Namespace) -> None:
    try:
        if describe_share_group(cluster, group).members:
            raise UsageError(f"Share group '{group}' is not empty.", hint="stop its consumers, then try again")
    except RequestRefused as error:
        if error.code != ErrorCode.group_id_not_found:
            raise  # offsets may also be set for a group that does not exist, which creates it
    partitions = _scope(cluster, group, options)
    if options.to_earliest:
        plan = offsets_at(cluster, partitions, EARLIEST)
    elif options.to_latest:
        plan = offsets_at(cluster, partitions, LATEST)
    else:
        plan = offsets_at_time(cluster, partitions, time_ms("--to-datetime", options.to_datetime, failure=UsageError))
    if options.execute:
        alter_share_offsets(cluster, group, plan)
    print_plans({group: plan})


def _scope(cluster: Cluster, group: str, options: argparse.Namespace) -> list[Partition]:
    if options.all_topics:
        return sorted(share_offsets(cluster, group))
    return topic_partitions(cluster, options.topic)


def _cell(number: int | None) -> str:
    return _MISSING if number is None else str(number)


def _check(reader: ScriptParser, options: argparse.Namespace) -> None:
    actions = [action for action in _ACTIONS if getattr(options, action)]
    if len(actions) != 1:
        reader.error(
            "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-offsets"
        )
    reader.require(options, "--bootstrap-server")
    if options.group and options.all_groups:
        reader.error("--group and --all-groups cannot be combined")
    if (options.describe or options.delete) and not (options.group or options.all_groups):
        reader.error(f"Option --{actions[0]} takes one of these options: --group, --all-groups")
    check_details(reader, options)
    if options.reset_offsets:
        _check_reset(reader, options)


def _check_reset(reader: ScriptParser, options: argparse.Namespace) -> None:
    if len(options.group) != 1:
        reader.error("Option --reset-offsets takes the option: --group")
    if options.dry_run == options.execute:
        reader.error("Option --reset-offsets takes one of --dry-run and --execute")
    if sum(bool(getattr(options, name)) for name in _SCENARIOS) != 1:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in _SCENARIOS)
        reader.error(f"Option --reset-offsets requires one of the following scenarios: {flags}")
    if bool(options.topic) == options.all_topics:
        reader.error("One of the reset scopes should be defined: --all-topics, --topic.")
