"""`barnabas kafka-reassign-partitions`: Kafka's ReassignPartitionsCommand.

Throttles are stored as by Kafka. Plans do not consider racks.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from barnabas.cli.errors import CommandFailed
from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.options import ScriptParser, UsageError, add_connection
from barnabas.cli.kafka.reassignment_file import ANY, Placement, named, read_placements, read_topics, shown
from barnabas.cli.kafka.reassignment_requests import (
    active_reassignments,
    alter_log_dirs,
    clear_throttles,
    current_placements,
    future_log_dirs,
    reassign,
    set_throttles,
)
from barnabas.cli.wire_client import Cluster, Partition

_ACTIONS: Final = ("generate", "execute", "verify", "cancel", "list")
_RETRY_S: Final = 0.2


def parser() -> ScriptParser:
    found = ScriptParser("kafka-reassign-partitions", "Move partitions between brokers and log directories.")
    add_connection(found)
    found.switch("--generate", "make a plan")
    found.switch("--execute", "start to execute a plan")
    found.switch("--verify", "show the progress of a plan, and remove throttles when it is done")
    found.switch("--cancel", "call it off")
    found.switch("--list", "list reassignments in progress")
    found.value("--reassignment-json-file", "the plan", metavar="FILE")
    found.value("--topics-to-move-json-file", "with --generate: the topics", metavar="FILE")
    found.value("--broker-list", "with --generate: the brokers", metavar="ID,...")
    found.switch("--disable-rack-aware", "with --generate: ignore racks (always the case here)")
    found.value("--throttle", "bytes per second between brokers", metavar="BYTES", type=int, default=-1)
    throttle = "--replica-alter-log-dirs-throttle"
    found.value(throttle, "bytes per second between directories", metavar="BYTES", type=int, default=-1)
    found.value("--timeout", "how long to wait for the start of a move, in ms", metavar="MS", type=int, default=10_000)
    found.switch("--additional", "with --execute: in addition to reassignments in progress")
    found.switch("--preserve-throttles", "keep throttles")
    found.switch("--disallow-replication-factor-change", "refuse a plan that changes the number of replicas")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    if sum(getattr(options, action) for action in _ACTIONS) != 1:
        reader.error(f"Command must include exactly one action: {', '.join(f'--{action}' for action in _ACTIONS)}")
    reader.require(options, "--bootstrap-server")
    if options.generate:
        reader.require(options, "--topics-to-move-json-file", "--broker-list")
    elif not options.list:
        reader.require(options, "--reassignment-json-file")
    with connect(options) as cluster:
        if options.list:
            return _list(cluster)
        if options.generate:
            return _generate(cluster, read_topics(options.topics_to_move_json_file), options.broker_list)
        placements = read_placements(options.reassignment_json_file)
        if options.execute:
            return _execute(cluster, placements, options)
        if options.verify:
            return _verify(cluster, placements, preserve_throttles=options.preserve_throttles)
        return _cancel(cluster, placements, preserve_throttles=options.preserve_throttles)


def _list(cluster: Cluster) -> int:
    active = active_reassignments(cluster)
    if not active:
        print("No partition reassignments found.")
        return 0
    print("Current partition reassignments:")
    for partition, moving in sorted(active.items()):
        print(f"{named(partition)}: replicas: {_ids(moving.replicas)}.", end="")
        print(f" adding: {_ids(moving.adding_replicas)}." if moving.adding_replicas else "", end="")
        print(f" removing: {_ids(moving.removing_replicas)}." if moving.removing_replicas else "")
    return 0


def _generate(cluster: Cluster, topics: list[str], broker_list: str) -> int:
    try:
        brokers = [int(broker) for broker in broker_list.split(",")]
    except ValueError as error:
        raise UsageError(f"--broker-list needs numbers, not {broker_list!r}", hint="write --broker-list 1,2") from error
    if len(set(brokers)) < len(brokers):
        raise UsageError("Broker list contains duplicate entries")
    current = current_placements(cluster, topics)
    if missing := sorted(set(topics) - {placement.partition[0] for placement in current}):
        raise UsageError(f"Topic(s) not found: {', '.join(missing)}")
    proposed = []
    for turn, placement in enumerate(current):
        factor = len(placement.replicas)
        if factor > len(brokers):
            raise UsageError(
                f"Replication factor: {factor} larger than available brokers: {len(brokers)} for"
                f" {named(placement.partition)}"
            )
        replicas = tuple(brokers[(turn + step) % len(brokers)] for step in range(factor))
        proposed.append(Placement(placement.partition, replicas, (ANY,) * factor))
    print(f"Current partition replica assignment\n{shown(current)}\n")
    print(f"Proposed partition reassignment configuration\n{shown(proposed)}")
    return 0


def _execute(cluster: Cluster, placements: list[Placement], options: argparse.Namespace) -> int:
    known = {broker.broker_id for broker in cluster.brokers().brokers}
    for broker in sorted({replica for placement in placements for replica in placement.replicas}):
        if broker not in known:
            raise CommandFailed(f"Unknown broker id {broker}", hint="run barnabas cluster describe to see the brokers")
    if not options.additional and active_reassignments(cluster):
        raise CommandFailed(
            "Cannot execute because there is an existing partition assignment.",
            hint="use --additional to start another one, or --cancel to cancel it",
        )
    topics = sorted({placement.partition[0] for placement in placements})
    wanted = {placement.partition for placement in placements}
    current = [each for each in current_placements(cluster, topics) if each.partition in wanted]
    if missing := sorted(wanted - {each.partition for each in current}):
        raise CommandFailed(
            f"there is no partition {', '.join(map(named, missing))}", hint="run barnabas topic list to see the topics"
        )
    print(f"Current partition replica assignment\n\n{shown(current)}\n")
    print("Save this to use as the --reassignment-json-file option during rollback")
    set_throttles(cluster, placements, current, options.throttle, options.replica_alter_log_dirs_throttle)
    reassign(cluster, placements, allow_factor_change=not options.disallow_replication_factor_change)
    print(f"Successfully started partition reassignments for {','.join(named(each.partition) for each in placements)}")
    _move_log_dirs(cluster, placements, options.timeout)
    return 0


def _move_log_dirs(cluster: Cluster, placements: list[Placement], timeout_ms: int) -> None:
    """The broker of a new replica may not know it yet."""
    wanted = moves_between_directories(placements)
    deadline = time.monotonic() + timeout_ms / 1000
    while wanted:
        begun = alter_log_dirs(cluster, wanted)
        for partition, broker in sorted(begun):
            path = wanted.pop((partition, broker))
            replica = f"replica {named(partition)} with broker {broker} "
            print(f"Successfully started moving log directory to {path} for {replica}")
        if wanted and time.monotonic() > deadline:
            left = ", ".join(f"{named(partition)}-{broker}" for partition, broker in sorted(wanted))
            raise CommandFailed(f"Timed out before log directory moves could be started for {left}")
        if wanted:
            time.sleep(_RETRY_S)


def moves_between_directories(placements: list[Placement]) -> dict[tuple[Partition, int], str]:
    return {
        (placement.partition, broker): path
        for placement in placements
        for broker, path in zip(placement.replicas, placement.log_dirs, strict=True)
        if path != ANY
    }


def _verify(cluster: Cluster, placements: list[Placement], *, preserve_throttles: bool) -> int:
    active = active_reassignments(cluster)
    topics = sorted({placement.partition[0] for placement in placements})
    current = {each.partition: each for each in current_placements(cluster, topics)}
    print("Status of partition reassignment:")
    done = True
    for placement in placements:
        subject = f"Reassignment of partition {named(placement.partition)}"
        found = current.get(placement.partition)
        if placement.partition in active:
            done = False
            print(f"{subject} is still in progress.")
        elif found is None:
            print(f"{subject} cannot be found: the partition does not exist.")
        elif found.replicas == placement.replicas:
            print(f"{subject} is completed.")
        else:
            print(
                f"There is no active reassignment of partition {named(placement.partition)}, but replica set is"
                f" {_ids(found.replicas)} rather than {_ids(placement.replicas)}."
            )
    done = _verify_log_dirs(cluster, placements, current) and done
    if done and not preserve_throttles:
        clear_throttles(cluster, topics)
    return 0


def _verify_log_dirs(cluster: Cluster, placements: list[Placement], current: Mapping[Partition, Placement]) -> bool:
    done = True
    futures = future_log_dirs(cluster)
    for (partition, broker), path in sorted(moves_between_directories(placements).items()):
        subject = f"Reassignment of replica {named(partition)}-{broker}"
        found = current.get(partition)
        places = {} if found is None else dict(zip(found.replicas, found.log_dirs, strict=True))
        if futures.get((partition, broker)) == path:
            done = False
            print(f"{subject} is still in progress.")
        elif (partition, broker) in futures:
            done = False
            print(
                f"Partition {named(partition)} on broker {broker} is being moved to log dir"
                f" {futures[partition, broker]} instead of {path}."
            )
        elif places.get(broker) == path:
            print(f"{subject} completed successfully.")
        else:
            print(
                f"Partition {named(partition)} on broker {broker} is not being moved from log dir"
                f" {places.get(broker)} to {path}."
            )
    return done


def _cancel(cluster: Cluster, placements: list[Placement], *, preserve_throttles: bool) -> int:
    active = active_reassignments(cluster)
    called_off = [each for each in placements if each.partition in active]
    if called_off:
        reassign(cluster, [each._replace(replicas=()) for each in called_off], cancel=True)
        partitions = ", ".join(named(each.partition) for each in called_off)
        print(f"Successfully cancelled partition reassignments for: {partitions}")
    else:
        print("None of the specified partition reassignments are active.")
    topics = sorted({placement.partition[0] for placement in placements})
    current = {each.partition: each for each in current_placements(cluster, topics)}
    futures = future_log_dirs(cluster)
    back: dict[tuple[Partition, int], str] = {
        (partition, broker): dict(zip(current[partition].replicas, current[partition].log_dirs, strict=True))[broker]
        for partition, broker in moves_between_directories(placements)
        if (partition, broker) in futures and partition in current
    }
    if back:
        alter_log_dirs(cluster, back)
        moves = ", ".join(f"{named(partition)}-{broker}" for partition, broker in sorted(back))
        print(f"Successfully cancelled log directory moves for: {moves}")
    else:
        print("None of the specified partition moves are active.")
    if not preserve_throttles:
        clear_throttles(cluster, topics)
    return 0


def _ids(replicas: Sequence[Any]) -> str:
    return ",".join(map(str, replicas))
