"""`barnabas produce`: one record per line of stdin."""

import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from barnabas.cli.apps import single_app
from barnabas.cli.cluster_access import ClusterAccess
from barnabas.cli.connected import connected
from barnabas.cli.connection import REQUEST_TIMEOUT_S, Connection, result_of, unknown_topic
from barnabas.cli.errors import CommandFailed
from barnabas.cli.output import plural, say
from barnabas.cli.pairs import parse_pair
from barnabas.cli.partitioners import LIBRDKAFKA_NAMES, Partitioner
from barnabas.cli.quantities import duration_ms
from barnabas.cli.sender import INTERRUPTED_FLUSH_S, Sender


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


@connected
def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to write to.")],
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", "-k", metavar="TEXT", help="What separates key and value.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="KEY=VALUE", help="A header for every record; repeatable."),
    ] = None,
    partition: Annotated[
        int | None, typer.Option(min=0, metavar="NUMBER", help="Send everything to this partition.")
    ] = None,
    partitioner: Annotated[
        Partitioner, typer.Option(help="How partitions are chosen; murmur2 is that of the Java client.")
    ] = Partitioner.murmur2,
    compression: Annotated[Compression, typer.Option("--compression", "-z")] = Compression.none,
    acks: Annotated[Acks, typer.Option(help="Which replicas must have a record before it counts as sent.")] = Acks.all,
    timeout: Annotated[
        str, typer.Option(metavar="DURATION", help="How long to try to send a record; a plain number is in seconds.")
    ] = "30s",
    *,
    access: ClusterAccess,
) -> None:
    """Send lines from stdin, one record each.

    Ends at the end of the input (Ctrl-D). The status is 1 if any record was not delivered.
    """
    headers = [(name, value.encode()) for name, value in (parse_pair("--header", text) for text in header or ())]
    if key_separator == "":
        raise CommandFailed("--key-separator is empty", hint="write --key-separator :")
    timeout_ms = duration_ms("--timeout", timeout, bare_unit="s")
    connection = Connection.to(access)
    sender = Sender(
        connection,
        topic,
        {
            "partitioner": LIBRDKAFKA_NAMES.get(partitioner, "murmur2_random"),
            # Spread records without a key one by one too; librdkafka would keep them together for a while.
            **({"sticky.partitioning.linger.ms": 0} if partitioner is Partitioner.random else {}),
            "compression.type": compression.value,
            "acks": acks.value,
            "enable.idempotence": acks is Acks.all,
            "message.timeout.ms": timeout_ms,
        },
    )
    _find_or_create_topic(connection, sender)
    choose = sender.chooser(partitioner) if partition is None else sender.fixed(partition)
    if sys.stdin.isatty():
        say("One record per line; end with Ctrl-D.")
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


def _find_or_create_topic(connection: Connection, sender: Sender) -> None:
    """A missing topic is created if the broker does that; at a terminal, ask first."""
    known = sender.known_topics()
    if sender.topic in known:
        sender.find_topic()
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        print(f"There is no topic {sender.topic}. Create it? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.buffer.readline().strip().lower() not in (b"y", b"yes"):
            raise unknown_topic(sender.topic, known)
        _create_topic(connection, sender.topic)
    sender.find_topic()
    say(f"Created topic {sender.topic} with {plural(sender.partitions, 'partition')}")


def _create_topic(connection: Connection, topic: str) -> None:
    from confluent_kafka.admin import NewTopic

    admin = connection.admin()  # must live until the response has come
    request = [NewTopic(topic, -1, -1)]  # as many partitions and replicas as the broker's settings say
    result_of(admin.create_topics(request, request_timeout=REQUEST_TIMEOUT_S)[topic])


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
                hint="leave --key-separator out, or give the separator that the lines have",
            )
        yield key, value


app = single_app(produce)
