"""`barnabas kafka-console-consumer`: Kafka's ConsoleConsumer, on librdkafka.

Without a group the partitions are read directly: nothing is joined and nothing committed, so records come at once.
"""

import argparse
import random
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.cli.connection import Connection
from barnabas.cli.consume import Pump
from barnabas.cli.kafka.client_properties import as_pairs, to_librdkafka
from barnabas.cli.kafka.message_formatter import MessageFormatter
from barnabas.cli.kafka.options import ScriptParser, UsageError, collect_properties, deprecated
from barnabas.cli.kafka.topics import include_pattern

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_FORMATTERS = "org.apache.kafka.tools.consumer."
_EARLIEST, _LATEST = -2, -1


def parser() -> ScriptParser:
    found = ScriptParser("kafka-console-consumer", "Write the records of a topic to stdout.")
    found.value("--bootstrap-server", "where the brokers listen", metavar="HOST:PORT,...")
    found.value("--topic", "where the records are", metavar="TOPIC")
    found.value("--include", "topics by a regular expression", metavar="REGEX")
    found.value("--partition", "only this partition", metavar="N", type=int)
    found.value("--offset", "with --partition: an offset, earliest or latest", metavar="OFFSET")
    found.switch("--from-beginning", "start at the oldest record if nothing is committed")
    found.value("--group", "share the topic with this group, and commit", metavar="GROUP")
    found.value("--max-messages", "stop after so many", metavar="N", type=int)
    found.value("--timeout-ms", "stop when nothing came for so long", metavar="MS", type=int)
    found.value("--isolation-level", "read_committed or read_uncommitted", metavar="LEVEL", default="read_uncommitted")
    found.switch("--skip-message-on-error", "go on after a record that cannot be shown")
    found.switch("--enable-systest-events", "say shutdown_complete at the end")
    found.value("--formatter", "DefaultMessageFormatter or NoOpMessageFormatter", metavar="CLASS")
    found.values("--formatter-property", "how records are shown, such as print.key=true", metavar="KEY=VALUE")
    found.value("--formatter-config", "a properties file of the same", metavar="FILE")
    found.values("--property", "deprecated: --formatter-property", metavar="KEY=VALUE")
    found.value("--key-deserializer", "one of Kafka's own, such as LongDeserializer", metavar="CLASS")
    found.value("--value-deserializer", "one of Kafka's own", metavar="CLASS")
    found.values("--command-property", "a setting of the consumer", metavar="KEY=VALUE")
    found.value("--command-config", "a properties file of the same", metavar="FILE")
    found.values("--consumer-property", "deprecated: --command-property", metavar="KEY=VALUE")
    found.value("--consumer.config", "deprecated: --command-config", metavar="FILE")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    _check(reader, options)
    properties, group = _properties(reader, options)
    formatter = formatter_of(options)
    connection = Connection(options.bootstrap_server, as_pairs(to_librdkafka(properties)))
    commits = properties["enable.auto.commit"] == "true"
    consumer = connection.consumer({"enable.auto.offset.store": False})
    pump = Pump(consumer, formatter, stores_offsets=commits)
    try:
        _start(connection, consumer, options, properties, grouped=group is not None)
        timeout_s = None if options.timeout_ms is None or options.timeout_ms < 0 else options.timeout_ms / 1000
        limit = None if options.max_messages is None or options.max_messages < 0 else options.max_messages
        pump.run(limit, timeout_s)
    finally:
        consumer.close()
        sys.stdout.flush()
        print(f"Processed a total of {pump.count} messages", file=sys.stderr)
        if options.enable_systest_events:
            print("shutdown_complete")
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
    if known is None:  # a group shares it; a topic that is not there yet is waited for
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
    old_file = vars(options)["consumer.config"]
    for given, flag, instead in (
        (options.property, "--property", "--formatter-property"),
        (options.consumer_property, "--consumer-property", "--command-property"),
        (old_file, "--consumer.config", "--command-config"),
    ):
        if given:
            deprecated(flag, instead)
    found = collect_properties(
        [old_file, options.command_config],
        [("--consumer-property", options.consumer_property), ("--command-property", options.command_property)],
    )
    groups = {name for name in (options.group, found.get("group.id")) if name is not None}
    if len(groups) > 1:
        reader.error(f"The group ids provided in different places do not match: {', '.join(sorted(groups))}")
    if groups and options.partition is not None:
        reader.error("Options group and partition cannot be specified together.")
    group = groups.pop() if groups else None
    reset = found.get("auto.offset.reset")
    if options.from_beginning and reset not in (None, "earliest"):
        reader.error(f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}'")
    found.setdefault("auto.offset.reset", "earliest" if options.from_beginning else "latest")
    found.setdefault("enable.auto.commit", "false" if group is None else "true")
    found.setdefault("isolation.level", options.isolation_level)
    found.setdefault("client.id", "console-consumer")
    found["group.id"] = group or f"console-consumer-{random.randrange(100_000)}"
    return found, group


def formatter_of(options: argparse.Namespace) -> "MessageFormatter | _Silent | _Skipping":
    name = (options.formatter or "DefaultMessageFormatter").removeprefix(_FORMATTERS)
    if name == "NoOpMessageFormatter":
        return _Silent()
    if name not in ("DefaultMessageFormatter", "LoggingMessageFormatter"):
        raise UsageError(
            f"--formatter {options.formatter} is refused: Java classes cannot be loaded here",
            hint="for internal topics there is barnabas kafka-dump-log",
        )
    properties = collect_properties(
        [options.formatter_config],
        [("--property", options.property), ("--formatter-property", options.formatter_property)],
    )
    for flag, value in (("key", options.key_deserializer), ("value", options.value_deserializer)):
        if value is not None:
            properties[f"{flag}.deserializer"] = value
    return _Skipping(MessageFormatter(properties), skips=options.skip_message_on_error)


class _Silent:
    def __call__(self, message: "Message") -> bytes:
        return b""


class _Skipping:
    """A record that its deserializer cannot read ends the command, or is passed over."""

    def __init__(self, formatter: MessageFormatter, *, skips: bool) -> None:
        self._formatter = formatter
        self._skips = skips

    def __call__(self, message: "Message") -> bytes:
        try:
            return self._formatter(message)
        except ValueError as error:
            where = f"{message.topic()}-{message.partition()} at offset {message.offset()}"
            if self._skips:
                print(f"Error processing message, skipping this message: {where}: {error}", file=sys.stderr)
                return b""
            raise UsageError(
                f"the record of {where} cannot be shown: {error}", hint="pass over it with --skip-message-on-error"
            ) from error


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
