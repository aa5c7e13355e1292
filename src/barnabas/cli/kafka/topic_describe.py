"""`kafka-topics --describe`: a line per topic, a line per partition, fields separated by tabs."""

import argparse
import base64
from collections.abc import Iterator, Sequence
from typing import Any

from barnabas.cli.kafka.resource_configs import TOPIC, describe_resources
from barnabas.cli.wire_client import Cluster, check
from barnabas.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest

_PARTITIONS_PER_RESPONSE = 2000
_DEFAULT_SOURCES = frozenset({5})


def describe(cluster: Cluster, names: Sequence[str], options: argparse.Namespace) -> None:
    if not names:
        return
    partition_reports = (
        options.under_replicated_partitions
        or options.unavailable_partitions
        or options.under_min_isr_partitions
        or options.at_min_isr_partitions
    )
    live = {broker.broker_id for broker in cluster.brokers().brokers}
    configs = describe_resources(cluster, TOPIC, names)
    limit = options.partition_size_limit_per_response or _PARTITIONS_PER_RESPONSE
    for topic, partitions in _described(cluster, names, limit):
        settings = configs[topic.name]
        own = [entry for entry in settings if entry.config_source not in _DEFAULT_SOURCES]
        if not partition_reports and (own or not options.topics_with_overrides):
            print(_topic_line(topic, partitions, own))
        if options.topics_with_overrides:
            continue
        min_isr = next((int(entry.value) for entry in settings if entry.name == "min.insync.replicas"), 1)
        for partition in sorted(partitions, key=lambda partition: partition.partition_index):
            if not partition_reports or _is_wanted(partition, options, live, min_isr):
                print(_partition_line(topic.name, partition))


def _described(cluster: Cluster, names: Sequence[str], limit: int) -> Iterator[tuple[Any, list[Any]]]:
    """Each topic with all of its partitions, which may come in several responses."""
    cursor: Cursor | None = None
    pending: tuple[Any, list[Any]] | None = None
    topics = tuple(TopicRequest(name=name) for name in sorted(names))
    while True:
        request = DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=limit, cursor=cursor)
        answer = cluster.call("describe_topic_partitions", request)
        for topic in answer.topics:
            check(topic.error_code)
            if pending is not None and pending[0].name == topic.name:
                pending[1].extend(topic.partitions)
                continue
            if pending is not None:
                yield pending
            pending = (topic, list(topic.partitions))
        if answer.next_cursor is None:
            break
        cursor = Cursor(topic_name=answer.next_cursor.topic_name, partition_index=answer.next_cursor.partition_index)
        topics = tuple(topic for topic in topics if topic.name >= cursor.topic_name)
    if pending is not None:
        yield pending


def _topic_line(topic: Any, partitions: Sequence[Any], own: Sequence[Any]) -> str:
    first = min(partitions, key=lambda partition: partition.partition_index)
    identity = "" if topic.topic_id is None else f"\tTopicId: {uuid_text(topic.topic_id.bytes)}"
    configs = ",".join(f"{entry.name}={entry.value}" for entry in own)
    return (
        f"Topic: {topic.name}{identity}\tPartitionCount: {len(partitions)}"
        f"\tReplicationFactor: {len(first.replica_nodes)}\tConfigs: {configs}"
    )


def _partition_line(name: str, partition: Any) -> str:
    leader = partition.leader_id if partition.leader_id >= 0 else "none"
    return (
        f"\tTopic: {name}\tPartition: {partition.partition_index}\tLeader: {leader}"
        f"\tReplicas: {_ids(partition.replica_nodes)}\tIsr: {_ids(partition.isr_nodes)}"
        f"\tElr: {_ids(partition.eligible_leader_replicas)}\tLastKnownElr: {_ids(partition.last_known_elr)}"
    )


def _is_wanted(partition: Any, options: argparse.Namespace, live: set[int], min_isr: int) -> bool:
    in_sync = len(partition.isr_nodes)
    if options.under_replicated_partitions:
        return bool(in_sync < len(partition.replica_nodes))
    if options.unavailable_partitions:
        return partition.leader_id not in live
    if options.under_min_isr_partitions:
        return bool(partition.leader_id < 0 or in_sync < min_isr)
    return in_sync == min_isr


def _ids(nodes: Sequence[int] | None) -> str:
    return "" if nodes is None else ",".join(map(str, nodes))


def uuid_text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
