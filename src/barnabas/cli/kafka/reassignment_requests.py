"""Requests of kafka-reassign-partitions."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from barnabas.cli.kafka.reassignment_file import ANY, Placement
from barnabas.cli.kafka.resource_configs import BROKER, TOPIC, alter_resource
from barnabas.cli.wire_client import Cluster, Partition, RequestRefused, by_topic, check
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LOG_DIRS_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS, FOLLOWER_REPLICAS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"

Replica = tuple[Partition, int]
"""A partition, and a broker that holds it."""


def active_reassignments(cluster: Cluster) -> dict[Partition, Any]:
    answer = cluster.call("list_partition_reassignments", ListPartitionReassignmentsRequest(topics=None))
    check(answer.error_code, answer.error_message)
    return {(topic.name, each.partition_index): each for topic in answer.topics for each in topic.partitions}


def current_placements(cluster: Cluster, topics: Sequence[str]) -> list[Placement]:
    places = {replica: path for replica, path, is_future in _log_dirs(cluster) if not is_future}
    return sorted(
        Placement(
            (topic.name, partition.partition_index),
            tuple(partition.replica_nodes),
            tuple(
                places.get(((topic.name, partition.partition_index), broker), ANY) for broker in partition.replica_nodes
            ),
        )
        for topic in cluster.topics(topics).values()
        for partition in topic.partitions
    )


def future_log_dirs(cluster: Cluster) -> dict[Replica, str]:
    return {replica: path for replica, path, is_future in _log_dirs(cluster) if is_future}


def _log_dirs(cluster: Cluster) -> list[tuple[Replica, str, bool]]:
    return [
        (((topic.name, each.partition_index), broker.broker_id), directory.log_dir, each.is_future_key)
        for broker in cluster.brokers().brokers
        for directory in cluster.call(
            "describe_log_dirs", DescribeLogDirsRequest(topics=None), node=broker.broker_id
        ).results
        for topic in directory.topics
        for each in topic.partitions
    ]


def reassign(
    cluster: Cluster, placements: Sequence[Placement], *, allow_factor_change: bool = True, cancel: bool = False
) -> None:
    targets = {placement.partition: None if cancel else placement.replicas for placement in placements}
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=allow_factor_change,
        topics=tuple(
            ReassignableTopic(
                name=topic,
                partitions=tuple(
                    ReassignablePartition(partition_index=index, replicas=targets[topic, index]) for index in indexes
                ),
            )
            for topic, indexes in by_topic(targets).items()
        ),
    )
    answer = cluster.call("alter_partition_reassignments", request)
    check(answer.error_code, answer.error_message)
    for topic in answer.responses:
        for partition in topic.partitions:
            if partition.error_code != ErrorCode.none:
                raise RequestRefused(
                    partition.error_code,
                    f"Error reassigning partition {topic.name}-{partition.partition_index}: {partition.error_message}",
                )


def alter_log_dirs(cluster: Cluster, wanted: Mapping[Replica, str]) -> set[Replica]:
    """The accepted moves; a broker that does not have the partition yet accepts it later."""
    begun: set[Replica] = set()
    for broker in sorted({broker for _, broker in wanted}):
        by_path: dict[str, list[Partition]] = {}
        for (partition, holder), path in wanted.items():
            if holder == broker:
                by_path.setdefault(path, []).append(partition)
        request = AlterReplicaLogDirsRequest(
            dirs=tuple(
                AlterReplicaLogDir(
                    path=path,
                    topics=tuple(
                        AlterReplicaLogDirTopic(name=topic, partitions=tuple(indexes))
                        for topic, indexes in by_topic(partitions).items()
                    ),
                )
                for path, partitions in by_path.items()
            )
        )
        for topic in cluster.call("alter_replica_log_dirs", request, node=broker).results:
            for each in topic.partitions:
                if each.error_code == ErrorCode.none:
                    begun.add(((topic.topic_name, each.partition_index), broker))
                elif each.error_code not in (ErrorCode.not_leader_or_follower, ErrorCode.replica_not_available):
                    raise RequestRefused(
                        each.error_code,
                        f"Failed to alter dir for {topic.topic_name}-{each.partition_index} on broker {broker}:"
                        f" {each.error_code.name.upper()}",
                    )
    return begun


def set_throttles(
    cluster: Cluster,
    placements: Sequence[Placement],
    current: Sequence[Placement],
    between_brokers: int,
    between_directories: int,
) -> None:
    if between_brokers >= 0 or between_directories >= 0:
        print(
            "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is"
            " removed."
        )
    brokers = sorted({broker for each in (*placements, *current) for broker in each.replicas})
    if between_brokers >= 0:
        _throttle_topics(cluster, placements, current)
        rates = {LEADER_RATE: str(between_brokers), FOLLOWER_RATE: str(between_brokers)}
        for broker in brokers:
            alter_resource(cluster, BROKER, str(broker), rates, [])
        print(f"The inter-broker throttle limit was set to {between_brokers} B/s")
    if between_directories >= 0:
        for broker in brokers:
            alter_resource(cluster, BROKER, str(broker), {LOG_DIRS_RATE: str(between_directories)}, [])
        print(f"The replica-alter-dir throttle limit was set to {between_directories} B/s")


def _throttle_topics(cluster: Cluster, placements: Sequence[Placement], current: Sequence[Placement]) -> None:
    """Leaders, and followers that copy."""
    before = {each.partition: each.replicas for each in current}
    leaders: dict[str, list[str]] = {}
    followers: dict[str, list[str]] = {}
    for each in placements:
        topic, index = each.partition
        old = before.get(each.partition, ())
        new = [broker for broker in each.replicas if broker not in old]
        if new:
            leaders.setdefault(topic, []).extend(f"{index}:{broker}" for broker in old)
            followers.setdefault(topic, []).extend(f"{index}:{broker}" for broker in new)
    for topic, replicas in leaders.items():
        changes = {LEADER_REPLICAS: ",".join(replicas), FOLLOWER_REPLICAS: ",".join(followers[topic])}
        alter_resource(cluster, TOPIC, topic, changes, [])


def clear_throttles(cluster: Cluster, topics: Sequence[str]) -> None:
    brokers = sorted(broker.broker_id for broker in cluster.brokers().brokers)
    print(f"Clearing broker-level throttles on broker{'s' if len(brokers) > 1 else ''} {_joined(brokers)}")
    for broker in brokers:
        alter_resource(cluster, BROKER, str(broker), {}, [LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE])
    print(f"Clearing topic-level throttles on topic{'s' if len(topics) > 1 else ''} {_joined(topics)}")
    for topic in topics:
        alter_resource(cluster, TOPIC, topic, {}, [LEADER_REPLICAS, FOLLOWER_REPLICAS])


def _joined(names: Sequence[object]) -> str:
    return ",".join(map(str, names))
