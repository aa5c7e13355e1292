"""`kafka-consumer-groups --reset-offsets`: from the flags to a plan, and from the plan to a table, CSV or commits."""

import argparse
import csv
import io
import sys
import time
from collections.abc import Iterable, Mapping, Sequence

from barnabas.cli.errors import CommandFailed
from barnabas.cli.kafka.group_requests import commit_offsets, committed_offsets, describe_group, words
from barnabas.cli.kafka.options import ScriptParser, UsageError
from barnabas.cli.quantities import iso_duration_ms, time_ms
from barnabas.cli.wire_client import EARLIEST, LATEST, Cluster, Partition, RequestRefused
from barnabas.wire.errors import ErrorCode

Plan = dict[Partition, int]

_SCENARIOS = (
    "--to-datetime",
    "--by-duration",
    "--to-earliest",
    "--to-latest",
    "--shift-by",
    "--from-file",
    "--to-current",
    "--to-offset",
)


def check(reader: ScriptParser, options: argparse.Namespace) -> None:
    if options.dry_run and options.execute:
        reader.error("Option --reset-offsets only accepts one of --execute and --dry-run")
    chosen = [name for name in _SCENARIOS if getattr(options, name[2:].replace("-", "_")) not in (None, False)]
    if len(chosen) != 1:
        reader.error(f"Option --reset-offsets requires one of the following scenarios: {', '.join(_SCENARIOS)}")
    if not options.all_topics and not options.topic and options.from_file is None:
        reader.error("One of the reset scopes should be defined: --all-topics, --topic.")
    if not options.dry_run and not options.execute:
        print("WARN: nothing will be changed without --execute; give --dry-run to avoid this warning", file=sys.stderr)


def reset(cluster: Cluster, groups: Sequence[str], options: argparse.Namespace) -> None:
    plans: dict[str, Plan] = {}
    for group in groups:
        plans[group] = {}
        state = _state(cluster, group)
        if state not in ("Empty", "Dead"):
            print(
                f"\nError: Assignments can only be reset if the group '{group}' is inactive, "
                f"but the current state is {state}."
            )
            continue
        plans[group] = _plan(cluster, group, options)
        if options.execute:
            commit_offsets(cluster, group, plans[group])
    if options.export:
        print(_as_csv(plans, with_group=len(options.group) != 1))
    else:
        print_plans(plans)


def parse_partitions(text: str) -> list[Partition]:
    """`topic:0,1`."""
    topic, _, indexes = text.rpartition(":")
    if not topic or not indexes:
        raise UsageError(f"Invalid topic arg '{text}', expected topic name and partitions")
    try:
        return [(topic, int(index)) for index in indexes.split(",")]
    except ValueError as error:
        raise UsageError(f"Invalid partition specified in topic arg '{text}'") from error


def _state(cluster: Cluster, group: str) -> str:
    """Offsets may also be set for a group that does not exist, which creates it."""
    try:
        return describe_group(cluster, group).state
    except RequestRefused as error:
        if error.code == ErrorCode.group_id_not_found:
            return "Dead"
        raise


def _plan(cluster: Cluster, group: str, options: argparse.Namespace) -> Plan:
    if options.from_file is not None:
        return _bounded(cluster, _from_file(options.from_file, group, options))
    partitions = _scope(cluster, group, options)
    if options.to_offset is not None:
        return _bounded(cluster, dict.fromkeys(partitions, options.to_offset))
    if options.to_earliest:
        return offsets_at(cluster, partitions, EARLIEST)
    if options.to_latest:
        return offsets_at(cluster, partitions, LATEST)
    if options.to_datetime is not None:
        return offsets_at_time(cluster, partitions, time_ms("--to-datetime", options.to_datetime, failure=UsageError))
    if options.by_duration is not None:
        ago_ms = iso_duration_ms("--by-duration", options.by_duration, failure=UsageError)
        return offsets_at_time(cluster, partitions, int(time.time() * 1000) - ago_ms)
    current = {place: found.offset for place, found in committed_offsets(cluster, group).items()}
    if options.to_current:
        missing = [place for place in partitions if place not in current]
        return {place: current[place] for place in partitions if place in current} | offsets_at(
            cluster, missing, LATEST
        )
    for topic, index in partitions:
        if (topic, index) not in current:
            raise UsageError(
                f"Cannot shift offset for partition {topic}-{index} since there is no current committed offset",
                hint="give --to-earliest or --to-latest instead",
            )
    return _bounded(cluster, {place: current[place] + options.shift_by for place in partitions})


def _scope(cluster: Cluster, group: str, options: argparse.Namespace) -> list[Partition]:
    if options.all_topics:
        return sorted(committed_offsets(cluster, group))
    return topic_partitions(cluster, options.topic)


def topic_partitions(cluster: Cluster, topics: Sequence[str]) -> list[Partition]:
    """Of each either all partitions, or those it names."""
    partitions: list[Partition] = []
    known = cluster.topics([text for text in topics if ":" not in text])
    for text in topics:
        if ":" in text:
            partitions += parse_partitions(text)
        elif text in known:
            partitions += sorted((text, partition.partition_index) for partition in known[text].partitions)
        else:
            raise CommandFailed(words(ErrorCode.unknown_topic_or_partition), hint=f"there is no topic {text}")
    return partitions


def offsets_at(cluster: Cluster, partitions: Iterable[Partition], timestamp: int) -> Plan:
    found = cluster.offsets(partitions, timestamp)
    for (topic, index), offset in found.items():
        if offset.error != ErrorCode.none:
            raise CommandFailed(f"{topic}-{index}: {words(offset.error)}")
    return {place: offset.offset for place, offset in found.items()}


def offsets_at_time(cluster: Cluster, partitions: Sequence[Partition], timestamp: int) -> Plan:
    found = offsets_at(cluster, partitions, max(0, timestamp))
    later = [place for place, offset in found.items() if offset < 0]
    for topic, index in later:
        print(f"\nWarn: Partition {index} from topic {topic} is empty. Falling back to latest known offset.")
    return found | offsets_at(cluster, later, LATEST)


def _bounded(cluster: Cluster, wanted: Mapping[Partition, int]) -> Plan:
    start, end = offsets_at(cluster, wanted, EARLIEST), offsets_at(cluster, wanted, LATEST)
    plan = {}
    for (topic, index), offset in wanted.items():
        place = (topic, index)
        plan[place] = min(max(offset, start[place]), end[place])
        if plan[place] != offset:
            print(f"WARN: {topic}-{index} has no offset {offset}; taking {plan[place]}", file=sys.stderr)
    return plan


def _from_file(path: str, group: str, options: argparse.Namespace) -> Plan:
    """Lines of topic,partition,offset for one group, or group,topic,partition,offset."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", hint="create one with --export") from error
    plan: Plan = {}
    for row in rows:
        owner, fields = (group, row) if len(row) == 3 and len(options.group) == 1 else (row[0], row[1:])
        if len(fields) != 3 or not all(field.strip().isdecimal() for field in fields[1:]):
            raise UsageError(
                f"{path}: {','.join(row)!r} is not topic,partition,offset", hint="create one with --export"
            )
        if owner == group:
            plan[fields[0], int(fields[1])] = int(fields[2])
    if not plan:
        print(f"\nError: No reset plan for group {group} found")
    return plan


def _as_csv(plans: Mapping[str, Plan], *, with_group: bool) -> str:
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    for group, plan in plans.items():
        for (topic, index), offset in plan.items():
            writer.writerow([group, topic, index, offset] if with_group else [topic, index, offset])
    return content.getvalue()


def print_plans(plans: Mapping[str, Plan]) -> None:
    rows = [(group, topic, index, new) for group, plan in plans.items() for (topic, index), new in plan.items()]
    groups = max([15, *(len(row[0]) for row in rows)])
    topics = max([15, *(len(row[1]) for row in rows)])
    print(f"\n{'GROUP':<{groups}} {'TOPIC':<{topics}} {'PARTITION':<10} NEW-OFFSET")
    for group, topic, index, new in rows:
        print(f"{group:<{groups}} {topic:<{topics}} {index:<10} {new}")
