"""`barnabas produce`: one record per line of stdin."""

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.connection import REQUEST_TIMEOUT_S, Connection, failure, unknown_topic
from barnabas.cli.errors import CommandFailed, show
from barnabas.cli.options import DEFAULT_SERVERS, ClientConfig, Servers
from barnabas.cli.output import plural, say
from barnabas.cli.pairs import parse_pair
from barnabas.cli.partitioners import LIBRDKAFKA_NAMES, Choose, Partitioner, round_robin, sticky

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

# How long an interrupted command waits for what it has sent already.
INTERRUPTED_FLUSH_S = 2.0
# How long a topic may take to appear where the broker creates topics on demand.
TOPIC_WAIT_S = 5.0


class Acks(StrEnum):
    none = "0"
    leader = "1"
    all = "all"


class Compression(StrEnum):
    none = "none"
    gzip = "gzip"
    snappy = "snappy"
    lz4 = "lz4"
    zstd = "zstd"


def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Where the records go.")],
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", "-k", metavar="TEXT", help="What stands between key and value.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="KEY=VALUE", help="Given to every record; repeatable.")
    ] = None,
    partition: Annotated[int | None, typer.Option(help="Send everything to this partition.")] = None,
    partitioner: Annotated[
        Partitioner, typer.Option(help="How a partition is chosen; murmur2 is the Java client's way.")
    ] = Partitioner.murmur2,
    compression: Annotated[Compression, typer.Option("--compression", "-z")] = Compression.none,
    acks: Annotated[Acks, typer.Option(help="Who must have a record before it counts as sent.")] = Acks.all,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="When to give a record up.")] = 30.0,
    servers: Servers = DEFAULT_SERVERS,
    client_config: ClientConfig = None,
) -> None:
    """Send lines from stdin, one record each.

    Ends at the end of the input (Ctrl-D). The status is 1 if any record was not delivered.
    """
    headers = [(name, value.encode()) for name, value in (parse_pair("--header", text) for text in header or ())]
    if key_separator == "":
        raise CommandFailed("--key-separator is empty", hint="try: --key-separator :")
    connection = Connection(servers, client_config)
    sender = Sender(
        connection,
        topic,
        {
            "partitioner": LIBRDKAFKA_NAMES.get(partitioner, "murmur2_random"),
            # Random means every record, also those without a key that would stay together for a while.
            **({"sticky.partitioning.linger.ms": 0} if partitioner is Partitioner.random else {}),
            "compression.type": compression.value,
            "acks": acks.value,
            "enable.idempotence": acks is Acks.all,
            "message.timeout.ms": int(timeout * 1000),
        },
    )
    choose = sender.chooser(partitioner) if partition is None else sender.fixed(partition)
    if sys.stdin.isatty():
        say("One record per line; Ctrl-D ends.")
    started = time.monotonic()
    try:
        for key, value in records(key_separator):
            sender.send(key, value, headers, choose)
        sender.finish()
    except KeyboardInterrupt:
        sender.finish(INTERRUPTED_FLUSH_S)
        raise
    finally:
        sender.report(time.monotonic() - started)
    if sender.failed:
        raise typer.Exit(1)


class Sender:
    """A producer and what became of its records."""

    def __init__(
        self, connection: Connection, topic: str, config: dict[str, object], *, topic_wait_s: float = TOPIC_WAIT_S
    ) -> None:
        self.topic = topic
        self.failed = 0
        self._producer = connection.producer(config)
        self._delivered: Counter[int] = Counter()
        self._first_error: KafkaError | None = None
        self.partitions = self._await_topic(topic_wait_s)

    def chooser(self, partitioner: Partitioner) -> Choose:
        if partitioner in LIBRDKAFKA_NAMES:
            return lambda size: -1
        if partitioner is Partitioner.round_robin:
            return round_robin(self.partitions)
        return sticky(self.partitions, random.Random())

    def fixed(self, partition: int) -> Choose:
        if not 0 <= partition < self.partitions:
            raise CommandFailed(
                f"{self.topic} has no partition {partition}", hint=f"its partitions are 0 to {self.partitions - 1}"
            )
        return lambda size: partition

    def _await_topic(self, wait_s: float) -> int:
        """How many partitions it has. Asking for it by name creates it where the broker does that.

        It also pays: a producer that knows its broker gets its producer id at once, else half a second later.
        """
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + wait_s
        while True:
            try:
                found = self._producer.list_topics(self.topic, timeout=REQUEST_TIMEOUT_S).topics[self.topic]
            except KafkaException as error:
                raise failure(error.args[0]) from error
            if found.partitions:
                return len(found.partitions)
            if time.monotonic() > deadline:
                raise unknown_topic(self.topic, [])
            time.sleep(0.05)

    def send(
        self,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
        choose: Choose,
    ) -> None:
        from confluent_kafka import KafkaException

        partition = choose(len(value or b"") + len(key or b""))
        while True:
            try:
                self._producer.produce(
                    self.topic, value, key, partition=partition, headers=list(headers), on_delivery=self._on_delivery
                )
            except BufferError:  # librdkafka's queue is full: let deliveries make room
                self._producer.poll(0.1)
            except KafkaException as error:  # refused on the spot, a record that is too large for instance
                self._note(error.args[0])
                return
            else:
                self._producer.poll(0)
                return

    def finish(self, timeout_s: float | None = None) -> None:
        """Wait for every delivery, in small steps so that Ctrl-C is heard."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self._producer.flush(0.1) and (deadline is None or time.monotonic() < deadline):
            pass

    def report(self, elapsed_s: float) -> None:
        delivered = sum(self._delivered.values())
        where = plural(len(self._delivered), "partition")
        say(f"{plural(delivered, 'record')} sent to {self.topic} ({where}) in {elapsed_s:.2f} s")
        self.report_failures()

    def report_failures(self) -> None:
        if self._first_error is not None:
            reason = failure(self._first_error)
            show(CommandFailed(f"{plural(self.failed, 'record')} not delivered: {reason.message}", hint=reason.hint))

    def _on_delivery(self, error: "KafkaError | None", message: "Message") -> None:
        if error is not None:
            self._note(error)
        else:
            self._delivered[message.partition() or 0] += 1

    def _note(self, error: "KafkaError") -> None:
        self.failed += 1
        self._first_error = self._first_error or error


def records(key_separator: str | None) -> Iterator[tuple[bytes | None, bytes]]:
    separator = None if key_separator is None else key_separator.encode()
    for number, line in enumerate(sys.stdin.buffer, start=1):
        line = line.removesuffix(b"\n")
        if separator is None:
            yield None, line
            continue
        key, found, value = line.partition(separator)
        if not found:
            raise CommandFailed(
                f"line {number} has no {key_separator!r} between key and value",
                hint="send it without --key-separator, or give the separator that the lines have",
            )
        yield key, value
