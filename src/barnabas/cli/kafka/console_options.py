"""What kafka-console-consumer and kafka-console-share-consumer have in common: how records are shown, and settings."""

import argparse
import sys
from typing import TYPE_CHECKING

from barnabas.cli.kafka.message_formatter import MessageFormatter
from barnabas.cli.kafka.options import ScriptParser, UsageError, collect_properties, deprecated, name_of

if TYPE_CHECKING:
    from confluent_kafka import Message

_FORMATTERS = "org.apache.kafka.tools.consumer."


def add_console_options(found: ScriptParser, *, example: str, old_config: str) -> None:
    """`example` is a property of the formatter; `old_config` the flag that was used before --command-config."""
    found.switch("--enable-systest-events", "print shutdown_complete at the end")
    found.value("--formatter", "DefaultMessageFormatter or NoOpMessageFormatter", metavar="CLASS")
    found.values("--formatter-property", f"how records are shown, such as {example}", metavar="KEY=VALUE")
    found.value("--formatter-config", "a properties file with such settings", metavar="FILE")
    found.values("--property", "deprecated: --formatter-property", metavar="KEY=VALUE")
    found.value("--key-deserializer", "one of Kafka's own, such as LongDeserializer", metavar="CLASS")
    found.value("--value-deserializer", "one of Kafka's own", metavar="CLASS")
    found.values("--command-property", "a setting of the consumer", metavar="KEY=VALUE")
    found.value("--command-config", "a properties file with such settings", metavar="FILE")
    found.values("--consumer-property", "deprecated: --command-property", metavar="KEY=VALUE")
    found.value(old_config, "deprecated: --command-config", metavar="FILE")


def consumer_properties(
    reader: ScriptParser, options: argparse.Namespace, *, old_config: str
) -> tuple[dict[str, str], str | None]:
    """The properties, and the group if there is one."""
    old_file = getattr(options, name_of(old_config))
    for given, flag, instead in (
        (options.property, "--property", "--formatter-property"),
        (options.consumer_property, "--consumer-property", "--command-property"),
        (old_file, old_config, "--command-config"),
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
    return found, groups.pop() if groups else None


def natural_or_none(number: int | None) -> int | None:
    """A negative limit means none, as in Kafka."""
    return None if number is None or number < 0 else number


def print_end(options: argparse.Namespace, count: int) -> None:
    sys.stdout.flush()
    print(f"Processed a total of {count} messages", file=sys.stderr)
    if options.enable_systest_events:
        print("shutdown_complete")


def formatter_of(options: argparse.Namespace) -> "MessageFormatter | _Silent | _Skipping":
    name = (options.formatter or "DefaultMessageFormatter").removeprefix(_FORMATTERS)
    if name == "NoOpMessageFormatter":
        return _Silent()
    if name not in ("DefaultMessageFormatter", "LoggingMessageFormatter"):
        raise UsageError(
            f"--formatter {options.formatter} is refused: Java classes cannot be loaded here",
            hint="use barnabas kafka-dump-log for internal topics",
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
    """A record that its deserializer cannot read ends the command, or is skipped."""

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
                f"the record of {where} cannot be shown: {error}", hint="skip such records with --skip-message-on-error"
            ) from error
