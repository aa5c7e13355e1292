"""`barnabas kafka-leader-election`: Kafka's LeaderElectionCommand."""

import argparse
import json
from collections.abc import Sequence
from typing import Final

from barnabas.cli.errors import CommandFailed
from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.options import ScriptParser, UsageError, add_connection, deprecated
from barnabas.cli.wire_client import Cluster, Partition, by_topic, check
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

_KINDS: Final = {"preferred": 0, "unclean": 1}


def parser() -> ScriptParser:
    found = ScriptParser("kafka-leader-election", "Elect new leaders of partitions.")
    add_connection(found)
    found.value("--admin.config", "the older name of --command-config", metavar="FILE")
    found.value("--election-type", "preferred, or unclean for partitions without a leader", metavar="TYPE")
    found.value("--topic", "with --partition: one partition", metavar="TOPIC")
    found.value("--partition", "with --topic: one partition", metavar="NUMBER", type=int)
    found.value("--path-to-json-file", '{"partitions": [{"topic": "foo", "partition": 1}]}', metavar="FILE")
    found.switch("--all-topic-partitions", "all partitions that need it")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    old_config = vars(options)["admin.config"]
    if old_config is not None:
        deprecated("--admin.config", "--command-config")
        options.command_config = options.command_config or old_config
    reader.require(options, "--bootstrap-server", "--election-type")
    kind = _KINDS.get(options.election_type.lower())
    if kind is None:
        reader.error(f"--election-type is preferred or unclean, not {options.election_type}")
    partitions = _partitions(reader, options)
    with connect(options) as cluster:
        return _elect(cluster, options.election_type.upper(), kind, partitions)


def _partitions(reader: ScriptParser, options: argparse.Namespace) -> list[Partition] | None:
    ways = [options.topic is not None, options.path_to_json_file is not None, options.all_topic_partitions]
    if sum(ways) != 1:
        reader.error("One and only one of --topic, --path-to-json-file or --all-topic-partitions must be given")
    if options.all_topic_partitions:
        return None
    if options.topic is not None:
        if options.partition is None:
            reader.error("missing required argument --partition")
        return [(options.topic, options.partition)]
    return read_partitions(options.path_to_json_file)


def read_partitions(path: str) -> list[Partition]:
    try:
        with open(path, encoding="utf-8") as file:
            return [(str(each["topic"]), int(each["partition"])) for each in json.load(file)["partitions"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} cannot be read: {error}", hint='it holds {"partitions": [{"topic": "foo", "partition": 1}]}'
        ) from error


def _elect(cluster: Cluster, name: str, kind: int, partitions: list[Partition] | None) -> int:
    wanted = None
    if partitions is not None:
        wanted = tuple(
            TopicPartitions(topic=topic, partitions=tuple(indexes)) for topic, indexes in by_topic(partitions).items()
        )
    answer = cluster.call("elect_leaders", ElectLeadersRequest(election_type=kind, topic_partitions=wanted))
    results = [
        (f"{result.topic}-{each.partition_id}", each)
        for result in answer.replica_election_results
        for each in result.partition_result
    ]
    if not results:
        check(answer.error_code)
    elected = [place for place, each in results if each.error_code == ErrorCode.none]
    needless = [place for place, each in results if each.error_code == ErrorCode.election_not_needed]
    failed = [(place, each) for place, each in results if place not in elected and place not in needless]
    if elected:
        print(f"Successfully completed leader election ({name}) for partitions {', '.join(elected)}")
    if needless:
        print(f"Valid replica already elected for partitions {', '.join(needless)}")
    for place, each in failed:
        print(f"Error completing leader election ({name}) for partition: {place}: {each.error_message}")
    if failed:
        raise CommandFailed(f"{len(failed)} replica(s) could not be elected")
    return 0
