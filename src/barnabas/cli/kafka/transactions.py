"""`barnabas kafka-transactions`: Kafka's TransactionsCommand. Flags may come before or after the command."""

import argparse
import time
from collections.abc import Sequence
from typing import Final

from barnabas.cli import transaction_requests as requests
from barnabas.cli.errors import CommandFailed
from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.options import ScriptParser, add_connection
from barnabas.cli.transaction_requests import Producer
from barnabas.cli.wire_client import Cluster

COMMANDS: Final = (
    "list",
    "describe",
    "describe-producers",
    "abort",
    "find-hanging",
    "forceTerminateTransaction",
)
_MINUTE_MS: Final = 60_000


def parser() -> ScriptParser:
    found = ScriptParser("kafka-transactions", "List and describe transactions, and abort hanging ones.")
    found.command(*COMMANDS)
    found.alias("-v", "--version")
    add_connection(found)
    found.value("--duration-filter", "with list: only those open for longer, in ms", metavar="MS", type=int)
    found.value("--transactional-id-pattern", "with list: only these ids", metavar="REGEX")
    found.value("--transactional-id", "with describe: the transactional id", metavar="ID")
    found.value("--transactionalId", "with forceTerminateTransaction: the transactional id", metavar="ID")
    found.value("--broker-id", "ask this broker instead of each leader", metavar="ID", type=int)
    found.value("--topic", "the topic", metavar="TOPIC")
    found.value("--partition", "the partition", metavar="NUMBER", type=int)
    found.value("--start-offset", "with abort: where the transaction begins", metavar="OFFSET", type=int)
    found.value("--producer-id", "with abort: the producer", metavar="ID", type=int)
    found.value("--producer-epoch", "with abort: its epoch", metavar="NUMBER", type=int)
    found.value("--coordinator-epoch", "with abort: the coordinator's epoch", metavar="NUMBER", type=int)
    found.value(
        "--max-transaction-timeout",
        "with find-hanging: the longest a transaction may be open, in minutes",
        metavar="MINUTES",
        type=int,
        default=15,
    )
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    reader.require(options, "--bootstrap-server")
    _check(reader, options)
    with connect(options) as cluster:
        match options.command:
            case "list":
                _list(cluster, options)
            case "describe":
                _describe(cluster, options.transactional_id)
            case "describe-producers":
                _describe_producers(cluster, options)
            case "abort":
                _abort(cluster, options)
            case "find-hanging":
                _find_hanging(cluster, options)
            case _:
                requests.force_terminate(cluster, options.transactionalId)
    return 0


def _check(reader: ScriptParser, options: argparse.Namespace) -> None:
    command = options.command
    if command == "describe":
        reader.require(options, "--transactional-id")
    if command == "forceTerminateTransaction" and options.transactionalId is None:
        reader.error("missing required argument --transactionalId")
    if command in ("describe-producers", "abort"):
        reader.require(options, "--topic")
        if options.partition is None:
            reader.error("missing required argument --partition")
    if command == "abort" and options.start_offset is None:
        old = (options.producer_id, options.producer_epoch, options.coordinator_epoch)
        if None in old:
            reader.error(
                "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above)"
                " or with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
            )
    if command == "find-hanging":
        if options.topic is None and options.broker_id is None:
            reader.error(
                "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"
            )
        if options.partition is not None and options.topic is None:
            reader.error("The --partition argument requires --topic to be provided")


def _list(cluster: Cluster, options: argparse.Namespace) -> None:
    duration_ms = -1 if options.duration_filter is None else options.duration_filter
    found = requests.list_transactions(cluster, duration_ms=duration_ms, pattern=options.transactional_id_pattern)
    rows = [(each.transactional_id, each.coordinator, each.producer_id, each.state) for each in found]
    print_table(("TransactionalId", "Coordinator", "ProducerId", "TransactionState"), rows)


def _describe(cluster: Cluster, transactional_id: str) -> None:
    found = requests.describe_transaction(cluster, transactional_id)
    lasted_ms = None if found.start_ms is None else int(time.time() * 1000) - found.start_ms
    row = (
        found.coordinator,
        found.transactional_id,
        found.producer_id,
        found.producer_epoch,
        found.state,
        found.timeout_ms,
        found.start_ms,
        lasted_ms,
        ",".join(f"{topic}-{index}" for topic, index in found.partitions),
    )
    columns = (
        "CoordinatorId",
        "TransactionalId",
        "ProducerId",
        "ProducerEpoch",
        "TransactionState",
        "TransactionTimeoutMs",
        "CurrentTransactionStartTimeMs",
        "TransactionDurationMs",
        "TopicPartitions",
    )
    print_table(columns, [row])


def _describe_producers(cluster: Cluster, options: argparse.Namespace) -> None:
    partition = (options.topic, options.partition)
    producers = requests.describe_producers(cluster, [partition], broker=options.broker_id)
    columns = (
        "ProducerId",
        "ProducerEpoch",
        "LatestCoordinatorEpoch",
        "LastSequence",
        "LastTimestamp",
        "CurrentTransactionStartOffset",
    )
    print_table(
        columns,
        [
            (
                each.producer_id,
                each.producer_epoch,
                each.coordinator_epoch,
                each.last_sequence,
                each.last_timestamp,
                each.start_offset,
            )
            for each in producers
        ],
    )


def _abort(cluster: Cluster, options: argparse.Namespace) -> None:
    partition = (options.topic, options.partition)
    ids = (options.producer_id, options.producer_epoch, options.coordinator_epoch)
    if options.start_offset is not None:
        found = requests.open_transaction(cluster, partition, options.start_offset)
        if found is None:
            raise CommandFailed(
                f"Could not find any open transactions starting at offset {options.start_offset} on partition"
                f" {options.topic}-{options.partition}",
                hint="run barnabas kafka-transactions describe-producers to see them",
            )
        ids = (found.producer_id, found.producer_epoch, found.coordinator_epoch)
    producer_id, producer_epoch, coordinator_epoch = ids
    requests.abort(
        cluster,
        partition,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        coordinator_epoch=coordinator_epoch,
    )


def _find_hanging(cluster: Cluster, options: argparse.Namespace) -> None:
    if options.partition is not None:
        partitions = [(options.topic, options.partition)]
    else:
        partitions = requests.partitions_of_topics(cluster, None if options.topic is None else [options.topic])
    older_than_ms = options.max_transaction_timeout * _MINUTE_MS
    hanging = requests.find_hanging(cluster, partitions, older_than_ms=older_than_ms, broker=options.broker_id)
    columns = (
        "Topic",
        "Partition",
        "ProducerId",
        "ProducerEpoch",
        "CoordinatorEpoch",
        "StartOffset",
        "LastTimestamp",
        "Duration(min)",
    )
    print_table(columns, [_hanging_row(each) for each in hanging])


def _hanging_row(producer: Producer) -> tuple[object, ...]:
    lasted_ms = int(time.time() * 1000) - producer.last_timestamp
    return (
        *producer.partition,
        producer.producer_id,
        producer.producer_epoch,
        producer.coordinator_epoch,
        producer.start_offset,
        producer.last_timestamp,
        lasted_ms // _MINUTE_MS,
    )


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """As Kafka's tools print tables: a tab after every cell."""
    texts = [list(columns), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        print("".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)))


def _cell(value: object) -> str:
    return "None" if value is None else str(value)
