"""`barnabas kafka-metadata-quorum`: Kafka's MetadataQuorumCommand. Flags may come before or after the command."""

import argparse
import base64
import json
import time
import uuid
from collections.abc import Sequence
from typing import Any, Final

from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.options import ScriptParser, UsageError, add_connection
from barnabas.cli.wire_client import Cluster, check
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest

COMMANDS: Final = ("describe", "add-controller", "remove-controller")
_COLUMNS: Final = (
    "NodeId",
    "DirectoryId",
    "LogEndOffset",
    "Lag",
    "LastFetchTimestamp",
    "LastCaughtUpTimestamp",
    "Status",
)


def parser() -> ScriptParser:
    found = ScriptParser("kafka-metadata-quorum", "Describe the metadata quorum, and change its voters.")
    found.command(*COMMANDS)
    add_connection(found)
    found.switch("--status", "with describe: a summary")
    found.switch("--replication", "with describe: each replica and its lag")
    found.switch("--human-readable", "with --replication: times as durations")
    found.value("--controller-id", "the controller to remove", metavar="ID", type=int)
    found.value("--controller-directory-id", "its directory id", metavar="ID")
    found.switch("--dry-run", "show what would be done, and change nothing")
    found.alias("-i", "--controller-id")
    found.alias("-d", "--controller-directory-id")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    reader.require(options, "--bootstrap-server")
    if options.command == "describe" and options.status == options.replication:
        reader.error("One of --status or --replication must be specified with describe sub-command")
    if options.command == "add-controller":
        raise UsageError(
            "add-controller adds the controller whose configuration it is given, and a node of this broker's kind is"
            " a quorum of its own",
            hint="use Apache Kafka's own script for a quorum of several controllers",
        )
    with connect(options) as cluster:
        if options.command == "remove-controller":
            return _remove(reader, cluster, options)
        answer, partition = _ask(cluster)
        if options.status:
            _print_status(cluster, answer, partition)
        else:
            _print_replication(partition, human=options.human_readable)
    return 0


def _ask(cluster: Cluster) -> tuple[Any, Any]:
    topic = TopicData(topic_name="__cluster_metadata", partitions=(PartitionData(partition_index=0),))
    answer = cluster.call("describe_quorum", DescribeQuorumRequest(topics=(topic,)))
    check(answer.error_code, answer.error_message)
    (partition,) = answer.topics[0].partitions
    check(partition.error_code, partition.error_message)
    return answer, partition


def _print_status(cluster: Cluster, answer: Any, partition: Any) -> None:
    replicas = (*partition.current_voters, *partition.observers)
    leader = next(each for each in replicas if each.replica_id == partition.leader_id)
    followers = [each for each in replicas if each is not leader]
    endpoints = {
        node.node_id: [f"{each.name}://{each.host}:{each.port}" for each in node.listeners] for node in answer.nodes
    }

    def described(replica: Any) -> str:
        place = {"id": replica.replica_id, "directoryId": directory_text(replica.replica_directory_id)}
        addresses = endpoints.get(replica.replica_id)
        return json.dumps(place if addresses is None else {**place, "endpoints": addresses})

    rows = {
        "ClusterId": cluster.brokers().cluster_id,
        "LeaderId": partition.leader_id,
        "LeaderEpoch": partition.leader_epoch,
        "HighWatermark": partition.high_watermark,
        "MaxFollowerLag": max((leader.log_end_offset - each.log_end_offset for each in followers), default=0),
        "MaxFollowerLagTimeMs": max(
            (leader.last_caught_up_timestamp - each.last_caught_up_timestamp for each in followers), default=0
        ),
        "CurrentVoters": f"[{', '.join(map(described, partition.current_voters))}]",
        "CurrentObservers": f"[{', '.join(map(described, partition.observers))}]",
    }
    for name, value in rows.items():
        print(f"{name + ':':<24}{value}")


def _print_replication(partition: Any, *, human: bool) -> None:
    now_ms = int(time.time() * 1000)
    leader_end = max(each.log_end_offset for each in partition.current_voters if each.replica_id == partition.leader_id)

    def moment(timestamp: int) -> str:
        return f"{now_ms - timestamp} ms ago" if human else str(timestamp)

    rows = [_COLUMNS]
    for replica in (*partition.current_voters, *partition.observers):
        follower = "Follower" if replica in partition.current_voters else "Observer"
        rows.append(
            (
                str(replica.replica_id),
                directory_text(replica.replica_directory_id),
                str(replica.log_end_offset),
                str(leader_end - replica.log_end_offset),
                moment(replica.last_fetch_timestamp),
                moment(replica.last_caught_up_timestamp),
                "Leader" if replica.replica_id == partition.leader_id else follower,
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)))


def _remove(reader: ScriptParser, cluster: Cluster, options: argparse.Namespace) -> int:
    reader.require(options, "--controller-directory-id")
    if options.controller_id is None:
        reader.error("missing required argument --controller-id")
    directory_id = parse_directory(options.controller_directory_id)
    subject = f"KRaft controller {options.controller_id} with directory id {options.controller_directory_id}"
    if options.dry_run:
        print(f"DRY RUN of removing {subject}.")
        return 0
    request = RemoveRaftVoterRequest(voter_id=options.controller_id, voter_directory_id=directory_id)
    answer = cluster.call("remove_raft_voter", request)
    check(answer.error_code, answer.error_message)
    print(f"Removed {subject}.")
    return 0


def directory_text(directory_id: uuid.UUID | None) -> str:
    return base64.urlsafe_b64encode((directory_id or uuid.UUID(int=0)).bytes).decode().rstrip("=")


def parse_directory(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))
    except ValueError as error:
        raise UsageError(
            f"{text!r} is not a directory id", hint="kafka-metadata-quorum describe --replication shows them"
        ) from error
