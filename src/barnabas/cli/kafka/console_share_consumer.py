"""`barnabas kafka-console-share-consumer`: Kafka's ConsoleShareConsumer, on librdkafka.

Every record is accepted once it is written, unless --reject or --release says otherwise.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.cli.connection import Connection, check
from barnabas.cli.kafka.console_options import (
    add_console_options,
    consumer_properties,
    formatter_of,
    natural_or_none,
    print_end,
)
from barnabas.cli.kafka.options import ScriptParser, UsageError

if TYPE_CHECKING:
    from confluent_kafka import Message

_POLL_S = 0.2
_COMMIT_S = 30.0
_DEFAULT_GROUP = "console-share-consumer"
_OLD_CONFIG = "--consumer-config"


def parser() -> ScriptParser:
    found = ScriptParser("kafka-console-share-consumer", "Consume records as a member of a share group.")
    found.value("--bootstrap-server", "addresses of brokers", metavar="HOST:PORT,...")
    found.value("--topic", "the topic to read", metavar="TOPIC")
    found.value("--group", f"the share group [{_DEFAULT_GROUP}]", metavar="GROUP")
    found.value("--max-messages", "stop after this many records", metavar="N", type=int)
    found.value("--timeout-ms", "stop when no record came for this long", metavar="MS", type=int)
    found.switch("--reject", "reject each record: it is not delivered again")
    found.switch("--release", "release each record: it may be delivered again")
    found.switch("--reject-message-on-error", "reject records that cannot be shown, and continue")
    add_console_options(found, example="print.delivery=true", old_config=_OLD_CONFIG)
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    reader.require(options, "--bootstrap-server", "--topic")
    if options.reject and options.release:
        reader.error("At most one of --reject and --release may be specified.")
    properties = _properties(reader, options)
    # Records that cannot be shown are detected here, so that they can be rejected.
    options.skip_message_on_error = False
    formatter = formatter_of(options)
    connection = Connection(options.bootstrap_server, properties)
    consumer = connection.share_consumer({"share.acknowledgement.mode": "explicit"})
    pump = SharePump(consumer, formatter, options)
    try:
        consumer.subscribe([options.topic])
        pump.run()
    finally:
        consumer.close()
        print_end(options, pump.count)
    return 0


class SharePump:
    """Copies records from a share consumer to stdout, and acknowledges them."""

    def __init__(self, consumer: Any, render: "Callable[[Message], bytes]", options: argparse.Namespace) -> None:
        from confluent_kafka import AcknowledgeType

        self.count = 0
        self._consumer = consumer
        self._render = render
        self._limit = natural_or_none(options.max_messages)
        timeout_ms = natural_or_none(options.timeout_ms)
        self._timeout_s = None if timeout_ms is None else timeout_ms / 1000
        self._rejects_errors = options.reject_message_on_error
        self._release, self._reject = AcknowledgeType.RELEASE, AcknowledgeType.REJECT
        self._answer = self._reject if options.reject else self._release if options.release else AcknowledgeType.ACCEPT

    def run(self) -> None:
        last_record = time.monotonic()
        while self._limit is None or self.count < self._limit:
            messages = self._consumer.poll(_POLL_S)
            if not messages:
                if self._timeout_s is not None and time.monotonic() - last_record >= self._timeout_s:
                    return
                continue
            if not self._write(messages):
                return
            last_record = time.monotonic()

    def _write(self, messages: "Sequence[Message]") -> bool:
        """False if stdout was closed."""
        is_read = True
        for message in messages:
            error = message.error()
            if error is not None:
                check(error)
                continue
            wanted = is_read and (self._limit is None or self.count < self._limit)
            answer = self._release
            if wanted:
                answer, is_read = self._show(message)
                self.count += 1
            self._consumer.acknowledge(message, answer)
        self._consumer.commit_sync(_COMMIT_S)
        return is_read

    def _show(self, message: "Message") -> tuple[Any, bool]:
        try:
            shown = self._render(message)
        except UsageError as error:
            if not self._rejects_errors:
                raise
            print(f"Error processing message, rejecting this message: {error}", file=sys.stderr)
            return self._reject, True
        try:
            sys.stdout.buffer.write(shown)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return self._release, False
        return self._answer, True


def _properties(reader: ScriptParser, options: argparse.Namespace) -> dict[str, str]:
    found, group = consumer_properties(reader, options, old_config=_OLD_CONFIG)
    found["group.id"] = _DEFAULT_GROUP if group is None else group
    found.setdefault("client.id", "console-share-consumer")
    return found
