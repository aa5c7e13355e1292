"""`barnabas kafka-topics`: Kafka's TopicCommand."""

import argparse
import base64
import re
import uuid
from collections.abc import Sequence
from datetime import timedelta

from barnabas.cli.errors import CommandFailed, show_hint
from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.options import ScriptParser, add_connection
from barnabas.cli.kafka.topic_describe import describe
from barnabas.cli.wire_client import Cluster, check
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

_ACTIONS = ("list", "describe", "create", "alter", "delete")
_TIMEOUT = timedelta(seconds=30)


def parser() -> ScriptParser:
    found = ScriptParser("kafka-topics", "Create, delete, describe, or change a topic.")
    add_connection(found)
    found.switch("--create", "create a topic")
    found.switch("--delete", "delete topics")
    found.switch("--describe", "show topics and their partitions")
    found.switch("--list", "list topics")
    found.switch("--alter", "change the number of partitions")
    found.value("--topic", "a topic; except with --create, also a regular expression")
    found.value("--topic-id", "the id of the topic to describe", metavar="ID")
    found.values("--config", "a setting of the topic to create", metavar="NAME=VALUE")
    found.value("--partitions", "how many partitions", metavar="N", type=int)
    found.value("--replication-factor", "how many replicas of each partition", metavar="N", type=int)
    found.value("--replica-assignment", "brokers by partition: 1:2,2:3", metavar="BROKERS")
    found.switch("--if-exists", "do not fail if the topic does not exist")
    found.switch("--if-not-exists", "do not fail if the topic exists")
    found.switch("--exclude-internal", "without internal topics")
    found.switch("--under-replicated-partitions", "only partitions with replicas out of sync")
    found.switch("--unavailable-partitions", "only partitions without a leader")
    found.switch("--under-min-isr-partitions", "only partitions below min.insync.replicas")
    found.switch("--at-min-isr-partitions", "only partitions at min.insync.replicas")
    found.switch("--topics-with-overrides", "only topics with settings of their own")
    found.value("--partition-size-limit-per-response", "how many partitions to request at once", metavar="N", type=int)
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    _check(reader, options)
    try:
        with connect(options) as cluster:
            _act(cluster, options)
    except CommandFailed as error:
        print(f"Error while executing topic command : {error.message}")
        show_hint(error)
        return 1
    return 0


def _act(cluster: Cluster, options: argparse.Namespace) -> None:
    if options.create:
        _create(cluster, options)
    elif options.alter:
        _alter(cluster, options)
    elif options.list:
        print("\n".join(_matching(cluster, options)))
    elif options.describe:
        if options.topic_id:
            describe(cluster, _with_id(cluster, options), options)
        else:
            describe(cluster, _existing(cluster, options), options)
    else:
        _delete(cluster, options)


def _create(cluster: Cluster, options: argparse.Namespace) -> None:
    if "." in options.topic and "_" in options.topic:
        print(
            "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could "
            "collide. To avoid issues it is best to use either, but not both."
        )
    assignment = _parse_assignment(options.replica_assignment)
    topic = CreatableTopic(
        name=options.topic,
        num_partitions=-1 if assignment or options.partitions is None else options.partitions,
        replication_factor=-1 if assignment or options.replication_factor is None else options.replication_factor,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in enumerate(assignment)
        ),
        configs=tuple(CreatableTopicConfig(name=name, value=value) for name, value in _configs(options.config)),
    )
    answer = cluster.call("create_topics", CreateTopicsRequest(topics=(topic,), timeout=_TIMEOUT))
    (result,) = answer.topics
    if result.error_code == ErrorCode.topic_already_exists and options.if_not_exists:
        return
    check(result.error_code, result.error_message)
    print(f"Created topic {options.topic}.")


def _alter(cluster: Cluster, options: argparse.Namespace) -> None:
    names = _existing(cluster, options)
    assignment = _parse_assignment(options.replica_assignment)
    known = cluster.topics(names)
    topics = tuple(
        CreatePartitionsTopic(
            name=name,
            count=options.partitions,
            assignments=tuple(
                CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignment[len(known[name].partitions) :]
            )
            if assignment
            else None,
        )
        for name in names
    )
    if not topics:
        return
    answer = cluster.call("create_partitions", CreatePartitionsRequest(topics=topics, timeout=_TIMEOUT))
    for result in answer.results:
        check(result.error_code, result.error_message)


def _delete(cluster: Cluster, options: argparse.Namespace) -> None:
    names = tuple(_existing(cluster, options))
    if not names:
        return
    states = tuple(DeleteTopicState(name=name) for name in names)
    request = DeleteTopicsRequest(topics=states, topic_names=names, timeout=_TIMEOUT)
    for result in cluster.call("delete_topics", request).responses:
        check(result.error_code, result.error_message)


def _matching(cluster: Cluster, options: argparse.Namespace) -> list[str]:
    pattern = include_pattern(options.topic) if options.topic else None
    return sorted(
        name
        for name, topic in cluster.topics().items()
        if (pattern is None or pattern.fullmatch(name)) and not (options.exclude_internal and topic.is_internal)
    )


def _existing(cluster: Cluster, options: argparse.Namespace) -> list[str]:
    found = _matching(cluster, options)
    if options.topic and not found and not options.if_exists:
        raise CommandFailed(
            f"Topic '{options.topic}' does not exist as expected",
            hint="run barnabas kafka-topics --list to see the topics",
        )
    return found


def _with_id(cluster: Cluster, options: argparse.Namespace) -> list[str]:
    try:
        wanted = uuid.UUID(bytes=base64.urlsafe_b64decode(options.topic_id + "=="))
    except ValueError as error:
        raise CommandFailed(
            f"{options.topic_id!r} is not a topic id", hint="run barnabas kafka-topics --describe to see the ids"
        ) from error
    found = [name for name, topic in cluster.topics().items() if topic.topic_id == wanted]
    if not found and not options.if_exists:
        raise CommandFailed(f"TopicId '{options.topic_id}' does not exist as expected")
    return found


def include_pattern(text: str) -> re.Pattern[str]:
    """A list of topics as Kafka's tools take it: a regular expression in which a comma means or."""
    try:
        return re.compile("|".join(part.strip() for part in text.strip("\"'").split(",") if part.strip()))
    except re.error as error:
        raise CommandFailed(f"{text} is an invalid regex: {error}") from error


def _configs(texts: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not value.strip():
            raise CommandFailed(
                'Invalid topic config: all configs to be added must be in the format "key=val".',
                hint="write --config retention.ms=86400000",
            )
        found.append((name.strip(), value.strip()))
    return found


def _parse_assignment(text: str | None) -> list[tuple[int, ...]]:
    if text is None:
        return []
    try:
        brokers = [tuple(int(broker) for broker in partition.split(":")) for partition in text.split(",")]
    except ValueError as error:
        raise CommandFailed(
            f"{text!r} is not a replica assignment", hint="write --replica-assignment 1:2,2:1"
        ) from error
    for index, replicas in enumerate(brokers):
        if len(set(replicas)) != len(replicas):
            raise CommandFailed(f"Partition replica lists may not contain duplicate entries: {text}")
        if len(replicas) != len(brokers[0]):
            raise CommandFailed(f"Partition {index} has different replication factor: {list(replicas)}")
    return brokers


def _check(reader: ScriptParser, options: argparse.Namespace) -> None:
    if sum(getattr(options, action) for action in _ACTIONS) != 1:
        reader.error("Command must include exactly one action: --list, --describe, --create, --alter or --delete")
    reader.require(options, "--bootstrap-server")
    if (options.create or options.alter or options.delete) and not options.topic:
        reader.error("missing required argument --topic")
    if options.alter and options.partitions is None:
        reader.error("missing required argument --partitions")
    if options.config and not options.create:
        reader.error("--config can only be used with --create; to alter settings use kafka-configs")
    if options.replica_assignment and options.create and (options.partitions or options.replication_factor):
        reader.error("--replica-assignment cannot be combined with --partitions and --replication-factor")
    if options.topic_id and not options.describe:
        reader.error("--topic-id can only be used with --describe")
    if options.partitions is not None and not (options.create or options.alter):
        reader.error("--partitions can only be used with --create and --alter")
    if options.replication_factor is not None and not options.create:
        reader.error("--replication-factor can only be used with --create")
    if options.if_not_exists and not options.create:
        reader.error("--if-not-exists can only be used with --create")
    if options.if_exists and not (options.alter or options.delete or options.describe):
        reader.error("--if-exists can only be used with --alter, --delete and --describe")
    reports = ("under_replicated_partitions", "unavailable_partitions", "under_min_isr_partitions")
    chosen = [name for name in (*reports, "at_min_isr_partitions", "topics_with_overrides") if getattr(options, name)]
    if chosen and not options.describe:
        reader.error(f"--{chosen[0].replace('_', '-')} can only be used with --describe")
    if len(chosen) > 1:
        reader.error(f"--{chosen[0].replace('_', '-')} and --{chosen[1].replace('_', '-')} cannot be combined")
