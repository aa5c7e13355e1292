"""`barnabas kafka-producer-perf-test`: Kafka's ProducerPerformance, on librdkafka.

The numbers are those of a Python client: compare runs of this script with each other, not with the Java tool's.
"""

import argparse
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from barnabas.cli.connection import Connection, failure
from barnabas.cli.errors import CommandFailed
from barnabas.cli.kafka.options import ScriptParser, UsageError, collect_properties, deprecated
from barnabas.cli.kafka.producer_stats import ProducerStats

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

_TRANSACTION_MS = 3000
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def parser() -> ScriptParser:
    found = ScriptParser("kafka-producer-perf-test", "Measure how fast a topic can be written.")
    found.add_argument("-h", action="help", help=argparse.SUPPRESS)
    found.value("--bootstrap-server", "addresses of brokers", metavar="HOST:PORT,...")
    found.value("--topic", "the topic to write to", metavar="TOPIC")
    found.value("--num-records", "how many records", metavar="N", type=int)
    found.value("--record-size", "bytes of each record", metavar="BYTES", type=int)
    found.value("--payload-file", "take records from this file, at random", metavar="FILE")
    found.value("--payload-delimiter", "what separates them there", metavar="TEXT", default="\\n")
    found.switch("--payload-monotonic", "the records are 0, 1, 2, ...")
    found.value("--throughput", "records per second at most, -1: as many as possible", metavar="N", type=float)
    found.value("--warmup-records", "how many first records the last line leaves out", metavar="N", type=int, default=0)
    found.value("--transactional-id", "write in transactions, with this transactional id", metavar="ID")
    found.value("--transaction-duration-ms", "how often to commit; 3000 by default", metavar="MS", type=int)
    found.value(
        "--reporting-interval", "print a line per interval of this length", metavar="MS", type=int, default=5000
    )
    for flag, meaning in (("--command-property", "settings"), ("--producer-props", "deprecated: --command-property")):
        found.add_argument(flag, nargs="+", action="extend", default=[], metavar="KEY=VALUE", help=meaning)
    found.value("--command-config", "a properties file with such settings", metavar="FILE")
    found.value("--producer.config", "deprecated: --command-config", metavar="FILE")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    _check(reader, options)
    payloads = _payloads(options)
    properties = _properties(options)
    servers = options.bootstrap_server or properties.get("bootstrap.servers")
    if servers is None:
        reader.error("missing required argument --bootstrap-server")
    commits = _commits(options, properties)
    connection = Connection(servers, properties)
    # Java's client blocks when its buffer is full; librdkafka bounds bytes and records, and only bytes should count.
    producer = connection.producer({"partitioner": "murmur2_random", "queue.buffering.max.messages": 10_000_000})
    _measure(producer, options, payloads, commits)
    return 0


class _Commits:
    """Begins a transaction with the first record after a commit, and commits after `duration_ms`."""

    def __init__(self, duration_ms: int) -> None:
        self._duration_s = duration_ms / 1000
        self._begun_s: float | None = None

    def begin(self, producer: "Producer") -> None:
        if self._begun_s is None:
            producer.begin_transaction()
            self._begun_s = time.monotonic()

    def end(self, producer: "Producer", *, at_once: bool = False) -> None:
        if self._begun_s is not None and (at_once or time.monotonic() - self._begun_s >= self._duration_s):
            producer.commit_transaction()
            self._begun_s = None


def _commits(options: argparse.Namespace, properties: dict[str, str]) -> _Commits | None:
    """None: no transactions. Sets the transactional id in the properties; the flag wins."""
    duration_ms, given = options.transaction_duration_ms, options.transactional_id
    if duration_ms is None and given is None and "transactional.id" not in properties:
        return None
    if given is not None or "transactional.id" not in properties:
        properties["transactional.id"] = given or f"performance-producer-{uuid.uuid4()}"
    return _Commits(_TRANSACTION_MS if duration_ms is None else duration_ms)


def _measure(
    producer: "Producer", options: argparse.Namespace, payloads: Iterator[bytes], commits: _Commits | None
) -> None:
    from confluent_kafka import KafkaException

    try:
        if commits is not None:
            producer.init_transactions()
        _write(producer, options, payloads, commits)
    except KafkaException as error:
        raise failure(error.args[0]) from error


def _write(
    producer: "Producer", options: argparse.Namespace, payloads: Iterator[bytes], commits: _Commits | None
) -> None:
    stats = ProducerStats(options.num_records, options.reporting_interval)
    steady: ProducerStats | None = None
    errors: list[KafkaError] = []
    if options.warmup_records:
        print(
            f"Warmup first {options.warmup_records} records. "
            "Steady state results will print after the complete test summary."
        )
    produce, poll, now = producer.produce, producer.poll, time.monotonic
    started_s = now()
    for number in range(options.num_records):
        if options.warmup_records and number == options.warmup_records:
            print("In steady state.")
            left = options.num_records - options.warmup_records
            steady = ProducerStats(left, 10**12, steady=True)
        if commits is not None:
            commits.begin(producer)
        payload = next(payloads)
        on_delivery = _recorder(stats, steady, errors, len(payload), now())
        while True:
            try:
                produce(options.topic, payload, on_delivery=on_delivery)
                break
            except BufferError:
                poll(0.01)
        if number % 64 == 0:
            poll(0)
        if commits is not None:
            commits.end(producer)
        if options.throughput > 0:
            _throttle(producer, started_s, number + 1, options.throughput)
    if commits is not None:
        commits.end(producer, at_once=True)
    while producer.flush(0.1):
        pass
    stats.print_total()
    if steady is not None:
        steady.print_total()
    if errors:
        reason = failure(errors[0])
        raise CommandFailed(f"{len(errors)} records were not delivered: {reason.message}", hint=reason.hint)


def _recorder(
    stats: ProducerStats, steady: ProducerStats | None, errors: "list[KafkaError]", size: int, sent_s: float
) -> "Callable[[KafkaError | None, Message], None]":
    def on_delivery(error: "KafkaError | None", message: "Message") -> None:
        if error is not None:
            errors.append(error)
            return
        now_s = time.monotonic()
        latency_ms = int((now_s - sent_s) * 1000)
        stats.record(latency_ms, size, now_s)
        if steady is not None:
            steady.record(latency_ms, size, now_s)

    return on_delivery


def _throttle(producer: "Producer", started_s: float, sent: int, throughput: float) -> None:
    """Wait until this many records are due, and handle deliveries meanwhile."""
    due_s = started_s + sent / throughput
    while (left_s := due_s - time.monotonic()) > 0:
        producer.poll(min(left_s, 0.1))


def _payloads(options: argparse.Namespace) -> Iterator[bytes]:
    if options.payload_monotonic:
        return _numbers()
    if options.payload_file is not None:
        return _from_file(options.payload_file, options.payload_delimiter)
    return _random_bytes(options.record_size)


def _numbers() -> Iterator[bytes]:
    number = 0
    while True:
        yield str(number).encode()
        number += 1


def _random_bytes(size: int) -> Iterator[bytes]:
    """Slices of a random text, which are cheaper than new letters for each record."""
    source = random.Random(0)
    text = bytes(source.choices(_LETTERS, k=max(2 * size, 65_536) + size))
    span = len(text) - size
    while True:
        start = source.randrange(span)
        yield text[start : start + size]


def _from_file(path: str, delimiter: str) -> Iterator[bytes]:
    print(f"Reading payloads from: {os.path.abspath(path)}")
    separator = delimiter.replace("\\n", "\n").replace("\\t", "\t")
    try:
        with open(path, encoding="utf-8") as file:
            found = [part.encode() for part in file.read().removesuffix(separator).split(separator)]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", hint="give --payload-file a file of UTF-8 text") from error
    if found == [b""]:
        raise UsageError(f"File does not exist or empty file provided: {path}")
    print(f"Number of records read: {len(found)}")
    return iter(lambda: random.choice(found), None)


def _properties(options: argparse.Namespace) -> dict[str, str]:
    old_file = vars(options)["producer.config"]
    for given, flag, instead in (
        (options.producer_props, "--producer-props", "--command-property"),
        (old_file, "--producer.config", "--command-config"),
    ):
        if given:
            deprecated(flag, instead)
    found = collect_properties(
        [old_file, options.command_config],
        [("--producer-props", options.producer_props), ("--command-property", options.command_property)],
    )
    found.setdefault("client.id", "perf-producer-client")
    return found


def _check(reader: ScriptParser, options: argparse.Namespace) -> None:
    reader.require(options, "--topic")
    for flag in ("num_records", "throughput"):
        if getattr(options, flag) is None:
            reader.error(f"argument --{flag.replace('_', '-')} is required")
    chosen = [options.record_size is not None, options.payload_file is not None, options.payload_monotonic]
    if sum(chosen) != 1:
        reader.error("exactly one of --record-size, --payload-file and --payload-monotonic is required")
    if options.num_records <= 0:
        reader.error("--num-records should be greater than zero")
    if options.record_size is not None and options.record_size <= 0:
        reader.error("--record-size should be greater than zero")
    if not 0 <= options.warmup_records < options.num_records:
        reader.error("The value for --warmup-records must be strictly fewer than the number of records in the test")
    if options.transaction_duration_ms is not None and options.transaction_duration_ms <= 0:
        reader.error("--transaction-duration-ms should be greater than zero")
    if options.reporting_interval <= 0:
        reader.error("--reporting-interval should be greater than zero")
