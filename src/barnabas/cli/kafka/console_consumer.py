"""`barnabas kafka-console-consumer`: Kafka's ConsoleConsumer, on librdkafka.

Without a group the partitions are read directly: no group is joined, nothing is committed, and records come at once.
"""

import argparse
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.connection import Connection
from barnabas.cli.consume import Pump
from barnabas.cli.damaged_batches import failed, with_next_offset
from barnabas.cli.kafka.console_options import (
    add_console_options,
    consumer_properties,
    formatter_of,
    natural_or_none,
    print_end,
)
from barnabas.cli.kafka.options import ScriptParser, UsageError
from barnabas.cli.kafka.topics import include_pattern

if TYPE_CHECKING:
    from confluent_kafka import Consumer

_OLD_CONFIG = "--consumer.config"
_EARLIEST, _LATEST = -2, -1


def parser() -> ScriptParser:
    found = ScriptParser("kafka-console-consumer", "Write the records of a topic to stdout.")
    found.value("--bootstrap-server", "addresses of brokers", metavar="HOST:PORT,...")
    found.value("--topic", "the topic to read", metavar="TOPIC")
    found.value("--include", "topics that match a regular expression", metavar="REGEX")
    found.value("--partition", "only this partition", metavar="N", type=int)
    found.value("--offset", "with --partition: an offset, earliest or latest", metavar="OFFSET")
    found.switch("--from-beginning", "start at the oldest record if nothing is committed")
    found.value("--group", "join this group, and commit offsets", metavar="GROUP")
    found.value("--max-messages", "stop after this many records", metavar="N", type=int)
    found.value("--timeout-ms", "stop when no record came for this long", metavar="MS", type=int)
    found.value("--isolation-level", "read_committed or read_uncommitted", metavar="LEVEL", default="read_uncommitted")
    found.switch("--skip-message-on-error", "skip records that cannot be shown")
    add_console_options(found, example="print.key=true", old_config=_OLD_CONFIG)
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    _check(reader, options)
    properties, group = _properties(reader, options)
    formatter = formatter_of(options)
    connection = Connection(options.bootstrap_server, properties)
    commits = properties["enable.auto.commit"] == "true"
    consumer = connection.consumer({"enable.auto.offset.store": False})
    pump = Pump(consumer, formatter, stores_offsets=commits)
    try:
        _start(connection, consumer, options, properties, grouped=group is not None)
        timeout_ms = natural_or_none(options.timeout_ms)
        pump.run(natural_or_none(options.max_messages), None if timeout_ms is None else timeout_ms / 1000)
    finally:
        consumer.close()
        print_end(options, pump.count)
    if pump.damaged:
        raise failed([with_next_offset(each, options.bootstrap_server, properties) for each in pump.damaged], group)
    return 0


def _start(
    connection: Connection,
    consumer: "Consumer",
    options: argparse.Namespace,
    properties: dict[str, str],
    *,
    grouped: bool,
) -> None:
    from confluent_kafka import TopicPartition

    if options.partition is not None:
        consumer.assign([TopicPartition(options.topic, options.partition, _offset(options))])
        return
    if options.include is not None:
        consumer.subscribe([f"^({include_pattern(options.include).pattern})$"])
        return
    known = None if grouped else connection.metadata(connection.admin()).topics.get(options.topic)
    if known is None:  # a group divides it; a missing topic is waited for
        consumer.subscribe([options.topic])
        return
    start = _EARLIEST if properties["auto.offset.reset"] == "earliest" else _LATEST
    consumer.assign([TopicPartition(options.topic, index, start) for index in sorted(known.partitions)])


def _offset(options: argparse.Namespace) -> int:
    text = (options.offset or ("earliest" if options.from_beginning else "latest")).lower()
    if text in ("earliest", "latest"):
        return _EARLIEST if text == "earliest" else _LATEST
    if not text.isdecimal():
        raise UsageError(
            f"The provided offset value '{options.offset}' is incorrect. "
            "Valid values are 'earliest', 'latest', or a non-negative long."
        )
    return int(text)


def _properties(reader: ScriptParser, options: argparse.Namespace) -> tuple[dict[str, str], str | None]:
    found, group = consumer_properties(reader, options, old_config=_OLD_CONFIG)
    if group is not None and options.partition is not None:
        reader.error("Options group and partition cannot be specified together.")
    reset = found.get("auto.offset.reset")
    if options.from_beginning and reset not in (None, "earliest"):
        reader.error(f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}'")
    found.setdefault("auto.offset.reset", "earliest" if options.from_beginning else "latest")
    found.setdefault("enable.auto.commit", "false" if group is None else "true")
    found.setdefault("isolation.level", options.isolation_level)
    found.setdefault("client.id", "console-consumer")
    found["group.id"] = group or f"console-consumer-{random.randrange(100_000)}"
    return found, group


def _check(reader: ScriptParser, options: argparse.Namespace) -> None:
    reader.require(options, "--bootstrap-server")
    if (options.topic is None) == (options.include is None):
        reader.error("Exactly one of the following arguments is required: --topic, --include")
    if options.partition is not None:
        if options.topic is None:
            reader.error("The topic is required when partition is specified.")
        if options.from_beginning and options.offset is not None:
            reader.error("Options from-beginning and offset cannot be specified together.")
    elif options.offset is not None:
        reader.error("The partition is required when offset is specified.")
    if options.isolation_level not in ("read_committed", "read_uncommitted"):
        reader.error(f"--isolation-level is read_committed or read_uncommitted, not {options.isolation_level}")
