"""`kafka-consumer-groups --describe`: tables whose columns are as wide as their content, and at least as Kafka's."""

import argparse
import sys
from collections.abc import Sequence
from typing import NamedTuple

from barnabas.cli.kafka.group_requests import Committed, Group, committed_offsets, describe_group
from barnabas.cli.wire_client import LATEST, Cluster, Partition
from barnabas.wire.errors import ErrorCode

_MISSING = "-"
_REBALANCING = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})


class _Row(NamedTuple):
    place: Partition
    committed: Committed | None
    end: int | None
    member_id: str = _MISSING
    host: str = _MISSING
    client_id: str = _MISSING


def describe(cluster: Cluster, names: Sequence[str], options: argparse.Namespace) -> None:
    groups = [describe_group(cluster, name) for name in sorted(names)]
    for group in groups:
        if options.state is not None:
            _print_state(group, options.verbose)
        elif options.members:
            _print_members(group, options.verbose)
        else:
            _print_offsets(group, _rows(cluster, group), options.verbose)


def _rows(cluster: Cluster, group: Group) -> list[_Row]:
    committed = committed_offsets(cluster, group.group_id)
    assigned = {place for member in group.members for place in member.partitions}
    ends = cluster.offsets(sorted(assigned | committed.keys()), LATEST)
    known = {place: found.offset for place, found in ends.items() if found.error == ErrorCode.none}
    rows = []
    for member in sorted(group.members, key=lambda member: -len(member.partitions)):
        for place in sorted(member.partitions):
            labels = (member.member_id, member.host, member.client_id)
            rows.append(_Row(place, committed.get(place), known.get(place), *labels))
    rows += [_Row(place, committed[place], known.get(place)) for place in sorted(committed.keys() - assigned)]
    return rows


def _print_offsets(group: Group, rows: Sequence[_Row], verbose: bool) -> None:
    if not _announce(group) or not rows:
        return
    titles = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST"]
    widths = [15, 15, 10, 15, 15, 15, 15, 15]
    table = []
    for row in rows:
        offset = None if row.committed is None else row.committed.offset
        lag = None if offset is None or row.end is None else row.end - offset
        cells = [group.group_id, *map(str, row.place), *map(_cell, (offset, row.end, lag)), row.member_id, row.host]
        if verbose:
            epoch = None if row.committed is None or row.committed.leader_epoch < 0 else row.committed.leader_epoch
            cells.insert(3, _cell(epoch))
        table.append((cells, row.client_id))
    if verbose:
        titles.insert(3, "LEADER-EPOCH")
        widths.insert(3, 15)
    layout = layout_of(widths, [cells for cells, _ in table])
    print("\n" + layout.format(*titles) + " CLIENT-ID")
    for cells, client_id in table:
        print(f"{layout.format(*cells)} {client_id}")


def _print_members(group: Group, verbose: bool) -> None:
    if not _announce(group):
        return
    with_instance = any(member.instance_id for member in group.members)
    titles = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    widths = [15, 15, 15, 15, 15]
    table = [
        [group.group_id, member.member_id, member.host, member.client_id, str(len(member.partitions))]
        for member in group.members
    ]
    if with_instance:
        titles.insert(2, "GROUP-INSTANCE-ID")
        widths.insert(2, 17)
        for cells, member in zip(table, group.members, strict=True):
            cells.insert(2, member.instance_id)
    if verbose:
        titles += ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
        widths += [15, 20, 15, 20]
        # Only useful while members of both protocols are in the group.
        is_mixed = {member.is_upgraded for member in group.members} == {True, False}
        if is_mixed:
            titles.append("UPGRADED")
            widths.append(0)
        for cells, member in zip(table, group.members, strict=True):
            cells += [
                _cell(member.epoch),
                assignment_text(member.partitions),
                _cell(group.target_epoch),
                assignment_text(member.target),
            ]
            if is_mixed:
                cells.append(str(member.is_upgraded).lower())
    layout = layout_of(widths, table)
    print("\n" + layout.format(*titles) + " ")
    for cells in table:
        print(layout.format(*cells) + " ")


def _print_state(group: Group, verbose: bool) -> None:
    if not _announce(group):
        return
    where = f"{group.coordinator.host}:{group.coordinator.port}  ({group.coordinator.node_id})"
    titles = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    cells = [group.group_id, where, group.assignor or _MISSING, group.state]
    widths = [15, 25, 20, 20]
    if verbose:
        titles += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        cells += [_cell(group.epoch), _cell(group.target_epoch)]
        widths += [15, 25]
    layout = layout_of(widths, [cells])
    print("\n" + layout.format(*titles) + " #MEMBERS")
    print(f"{layout.format(*cells)} {len(group.members)}")


def _announce(group: Group) -> bool:
    """Print a message about the group's state; False if there is nothing else to show."""
    sys.stdout.flush()
    if group.state == "Dead":
        print(f"\nError: Consumer group '{group.group_id}' does not exist.")
        return False
    if group.state == "Empty":
        print(f"\nConsumer group '{group.group_id}' has no active members.", file=sys.stderr)
    elif group.state in _REBALANCING:
        print(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.", file=sys.stderr)
    return True


def layout_of(minimum: Sequence[int], rows: Sequence[Sequence[str]]) -> str:
    widths = [max([least, *(len(row[column]) for row in rows)]) for column, least in enumerate(minimum)]
    return " ".join(f"{{:<{width}}}" for width in widths)


def assignment_text(partitions: Sequence[Partition]) -> str:
    grouped: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        grouped.setdefault(topic, []).append(index)
    return ";".join(f"{topic}:{','.join(map(str, indexes))}" for topic, indexes in grouped.items()) or _MISSING


def _cell(number: int | None) -> str:
    return _MISSING if number is None else str(number)
