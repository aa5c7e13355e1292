"""`barnabas consume`: records to stdout.

Without `--group` partitions are read directly: no group is joined, and nothing is committed. (librdkafka looks up a
group coordinator all the same. A broker that never had one then creates `__consumer_offsets`, as Kafka does.) With it
the command is a member of the group, and a record counts as processed when it was written to stdout.
"""

import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.apps import single_app
from barnabas.cli.cluster_access import ClusterAccess
from barnabas.cli.connected import connected
from barnabas.cli.connection import Connection, check
from barnabas.cli.damaged_batches import CORRUPT_MESSAGE, DamagedBatch, failed, with_next_offset
from barnabas.cli.errors import CommandFailed
from barnabas.cli.output import plural, say
from barnabas.cli.quantities import duration_s
from barnabas.cli.record_format import Render, renderer

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition

_BATCH = 500
_POLL_S = 0.1
# librdkafka's special offsets; N records before the end is _TAIL - N.
_EARLIEST, _LATEST, _COMMITTED, _TAIL = -2, -1, -1000, -2000


@connected
def consume(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to read.")],
    group: Annotated[
        str | None, typer.Option("--group", "-g", metavar="GROUP", help="Join this group, and commit offsets.")
    ] = None,
    from_beginning: Annotated[
        bool,
        typer.Option(
            "--from-beginning", help="Start at the oldest record; with --group, only if nothing is committed."
        ),
    ] = False,
    offset: Annotated[
        str | None,
        typer.Option(
            metavar="OFFSET", help="Start at this offset: a number, -N for N before the end, earliest or latest."
        ),
    ] = None,
    partition: Annotated[
        list[int] | None,
        typer.Option("--partition", "-p", min=0, metavar="NUMBER", help="Read only this partition; repeatable."),
    ] = None,
    max_messages: Annotated[
        int | None, typer.Option("--max-messages", "-n", min=1, metavar="NUMBER", help="Stop after this many records.")
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Stop when no record came for this long; a plain number is in seconds."),
    ] = None,
    output_format: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", help="text, json or a template: '{partition}:{offset} {value}'."),
    ] = "text",
    *,
    access: ClusterAccess,
) -> None:
    """Write records to stdout, one per line.

    Starts at the end of the topic by default, and runs until Ctrl-C, --max-messages or --timeout.
    """
    if group is not None and offset is not None:
        raise CommandFailed(
            "--offset and --group cannot be combined: a group starts at its committed offsets",
            hint=f"run barnabas group reset-offsets {group} --topic {topic} --to-offset N",
        )
    start = _start(offset, from_beginning)
    render = renderer(output_format)
    timeout_s = None if timeout is None else duration_s("--timeout", timeout, bare_unit="s")
    connection = Connection.to(access)
    partitions = _partitions(connection, topic, partition)
    consumer = connection.consumer(
        {
            "group.id": group or f"barnabas-consume-{os.getpid()}",  # librdkafka needs one even if no group is joined
            "auto.offset.reset": "earliest" if from_beginning else "latest",
            "enable.auto.commit": group is not None,
            "enable.auto.offset.store": False,
        }
    )
    if group is None:
        consumer.assign([_at(topic, index, start) for index in partitions])
    elif partition:
        consumer.assign([_at(topic, index, _COMMITTED) for index in partitions])
    else:
        consumer.subscribe([topic])
    pump = Pump(consumer, render, stores_offsets=group is not None)
    try:
        pump.run(max_messages, timeout_s)
    finally:
        consumer.close()
        say(f"{plural(pump.count, 'record')} read from {topic}")
    if pump.damaged:
        raise failed([with_next_offset(each, access.servers, access.properties) for each in pump.damaged], group)


class Pump:
    """Copies records from a consumer to stdout.

    A partition stops at a damaged batch, and the others continue: everything readable is written.
    """

    def __init__(self, consumer: "Consumer", render: Render, *, stores_offsets: bool) -> None:
        self.count = 0
        self.damaged: list[DamagedBatch] = []
        """Where partitions have stopped."""
        self._consumer = consumer
        self._render = render
        self._stores_offsets = stores_offsets

    def run(self, max_messages: int | None, timeout_s: float | None) -> None:
        last_record = time.monotonic()
        while max_messages is None or self.count < max_messages:
            wanted = _BATCH if max_messages is None else min(_BATCH, max_messages - self.count)
            # Wait for one record, then take what else is there without waiting.
            first = self._consumer.poll(_POLL_S)
            if first is None:
                if timeout_s is not None and time.monotonic() - last_record >= timeout_s:
                    return
                continue
            rest = self._consumer.consume(wanted - 1, 0) if wanted > 1 else []
            messages = [first, *rest]
            if not self._write([message for message in messages if message.error() is None]):
                return
            for message in messages:
                self._check(message)
            if self.damaged and self._all_have_stopped():
                return
            last_record = time.monotonic()

    def _write(self, records: "list[Message]") -> bool:
        """False if stdout was closed."""
        try:
            sys.stdout.buffer.write(b"".join(map(self._render, records)))
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return False
        self.count += len(records)
        if self._stores_offsets:
            for message in records:
                self._consumer.store_offsets(message)
        return True

    def _check(self, message: "Message") -> None:
        error = message.error()
        if error is None:
            return
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if error.code() == CORRUPT_MESSAGE and topic is not None and partition is not None and offset is not None:
            self._stop(DamagedBatch(topic, partition, offset))
        else:
            check(error)

    def _stop(self, damaged: DamagedBatch) -> None:
        self._consumer.pause([_at(*damaged[:3])])
        if damaged not in self.damaged:
            self.damaged.append(damaged)
            if not self._all_have_stopped():
                say(f"{damaged}; the other partitions continue")

    def _all_have_stopped(self) -> bool:
        stopped = {(damaged.topic, damaged.partition) for damaged in self.damaged}
        return {(each.topic, each.partition) for each in self._consumer.assignment()} <= stopped


def _start(offset: str | None, from_beginning: bool) -> int:
    """The first offset, in librdkafka's numbers."""
    if offset is None:
        return _EARLIEST if from_beginning else _LATEST
    if from_beginning:
        raise CommandFailed("--from-beginning and --offset cannot be combined", hint="leave one of them out")
    if offset in ("earliest", "latest"):
        return _EARLIEST if offset == "earliest" else _LATEST
    try:
        number = int(offset)
    except ValueError as error:
        raise CommandFailed(
            f"--offset must be a number, earliest or latest, not {offset!r}", hint="write --offset 0, or --offset -10"
        ) from error
    return number if number >= 0 else _TAIL + number


def _at(topic: str, partition: int, offset: int) -> "TopicPartition":
    from confluent_kafka import TopicPartition

    return TopicPartition(topic, partition, offset)


def _partitions(connection: Connection, topic: str, wanted: list[int] | None) -> list[int]:
    (found,) = connection.existing_topics(connection.admin(), [topic])
    known = sorted(found.partitions)
    for index in wanted or ():
        if index not in known:
            raise CommandFailed(
                f"{topic} has no partition {index}",
                hint=f"its partitions are 0 to {known[-1]}; without --partition all are read",
            )
    return wanted or known


app = single_app(consume)
