"""`barnabas kafka-get-offsets`: Kafka's GetOffsetShell."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence

from barnabas.cli.errors import CommandFailed, show_hint
from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.options import ScriptParser, add_connection
from barnabas.cli.kafka.topics import include_pattern
from barnabas.cli.wire_client import Cluster, Partition
from barnabas.wire.errors import ErrorCode

_TIMES = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
_RULE = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")

Filter = Callable[[str, int], bool]


def parser() -> ScriptParser:
    found = ScriptParser("kafka-get-offsets", "Print the offsets of partitions by time or position.")
    add_connection(found)
    found.value("--topic", "a topic or a regular expression; all if left out")
    found.value("--partitions", "only these partitions", metavar="N,...")
    found.value("--topic-partitions", "patterns: topic1:1,topic2:0-3,topic3,topic4:5-,:-3", metavar="PATTERNS")
    found.value("--time", f"a time in ms, or -1 to -6, or {', '.join(_TIMES)}", metavar="TIME", default="latest")
    found.switch("--exclude-internal-topics", "without internal topics")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    reader.require(options, "--bootstrap-server")
    try:
        timestamp = _timestamp(options.time)
        wanted = _filter(options)
        with connect(options) as cluster:
            _print(cluster, options, wanted, timestamp)
    except CommandFailed as error:
        print(f"Error occurred: {error.message}", file=sys.stderr)
        show_hint(error)
        return 1
    return 0


def _print(cluster: Cluster, options: argparse.Namespace, wanted: Filter, timestamp: int) -> None:
    partitions: list[Partition] = [
        (name, partition.partition_index)
        for name, topic in cluster.topics().items()
        if not (options.exclude_internal_topics and topic.is_internal)
        for partition in topic.partitions
        if wanted(name, partition.partition_index)
    ]
    if not partitions:
        raise CommandFailed("Could not match any topic-partitions with the specified filters")
    found = cluster.offsets(sorted(partitions, key=lambda place: f"{place[0]}-{place[1]}"), timestamp)
    for (topic, index), offset in found.items():
        if offset.error != ErrorCode.none:
            reason = offset.error.name.upper()
            print(f"Skip getting offsets for topic-partition {topic}-{index} due to error: {reason}", file=sys.stderr)
        elif offset.offset >= 0:
            print(f"{topic}:{index}:{offset.offset}")


def _timestamp(text: str) -> int:
    try:
        return _TIMES[text] if text in _TIMES else int(text)
    except ValueError as error:
        raise CommandFailed(
            f"Malformed time argument {text}. Please use -1 or latest / -2 or earliest / -3 or max-timestamp / -4 or "
            "earliest-local / -5 or latest-tiered / -6 or earliest-pending-upload, or a specified long format timestamp"
        ) from error


def _filter(options: argparse.Namespace) -> Filter:
    if options.topic_partitions is not None:
        if options.topic is not None or options.partitions is not None:
            raise CommandFailed("--topic-partitions cannot be used with --topic or --partitions")
        rules = [_rule(text) for text in options.topic_partitions.split(",")]
        return lambda topic, index: any(rule(topic, index) for rule in rules)
    pattern = include_pattern(options.topic or ".*")
    if not options.partitions:
        return lambda topic, index: pattern.fullmatch(topic) is not None
    try:
        chosen = {int(part) for part in options.partitions.split(",")}
    except ValueError as error:
        raise CommandFailed(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {options.partitions}"
        ) from error
    return lambda topic, index: index in chosen and pattern.fullmatch(topic) is not None


def _rule(text: str) -> Filter:
    found = _RULE.fullmatch(text)
    if found is None:
        raise CommandFailed(f"Invalid rule specification: {text}")
    name, exact, lower, upper = found.groups()
    pattern = include_pattern(name or ".*")
    if exact:
        return lambda topic, index: index == int(exact) and pattern.fullmatch(topic) is not None
    start, end = int(lower or 0), int(upper) if upper else sys.maxsize
    return lambda topic, index: start <= index < end and pattern.fullmatch(topic) is not None
