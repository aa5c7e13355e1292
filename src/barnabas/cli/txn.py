"""`barnabas txn`: list, describe, find hanging, abort."""

import time
from typing import Annotated, Final

import typer

from barnabas.cli.apps import group_app
from barnabas.cli.cluster_access import ClusterAccess
from barnabas.cli.connected import connected
from barnabas.cli.errors import CommandFailed
from barnabas.cli.options import Format, OutputFormat
from barnabas.cli.output import print_json, print_rows, readable_time, say
from barnabas.cli.quantities import duration_ms
from barnabas.model.quantities import duration_in_words

app = group_app("txn")

_ANY_AGE: Final = -1
"""Kafka's value for no filter by age."""

Name = Annotated[str, typer.Argument(metavar="TRANSACTIONAL_ID", help="The transactional id.")]


@app.command("list")
@connected
def list_(
    longer_than: Annotated[
        str | None,
        typer.Option(
            "--longer-than", metavar="DURATION", help="Only those that have been open for longer, like 10min."
        ),
    ] = None,
    pattern: Annotated[
        str | None, typer.Option("--pattern", metavar="REGEX", help="Only transactional ids that match.")
    ] = None,
    output_format: OutputFormat = Format.table,
    *,
    access: ClusterAccess,
) -> None:
    """List transactional ids and the states of their transactions."""
    from barnabas.cli.transaction_requests import list_transactions
    from barnabas.cli.wire_client import Cluster

    open_ms = _ANY_AGE if longer_than is None else duration_ms("--longer-than", longer_than)
    with Cluster.to(access) as cluster:
        rows = [each._asdict() for each in list_transactions(cluster, duration_ms=open_ms, pattern=pattern)]
    columns = ["transactional_id", "state", "producer_id", "coordinator"]
    print_rows(rows, columns, output_format, empty="No transactional ids yet.")


@app.command()
@connected
def describe(transactional_id: Name, output_format: OutputFormat = Format.table, *, access: ClusterAccess) -> None:
    """Show a transaction: its producer, its state and the partitions in it."""
    from barnabas.cli.transaction_requests import describe_transaction
    from barnabas.cli.wire_client import Cluster, RequestRefused
    from barnabas.wire.errors import ErrorCode

    with Cluster.to(access) as cluster:
        try:
            found = describe_transaction(cluster, transactional_id)
        except RequestRefused as refused:
            if refused.code != ErrorCode.transactional_id_not_found:
                raise
            raise CommandFailed(
                f"there is no transactional id {transactional_id}",
                hint="run barnabas txn list to see the transactional ids",
            ) from refused
    open_ms = None if found.start_ms is None else max(0, int(time.time() * 1000) - found.start_ms)
    partitions = [f"{topic}-{index}" for topic, index in found.partitions]
    if output_format is Format.json:
        print_json({**found._asdict(), "partitions": partitions, "open_ms": open_ms})
        return
    lines = {
        "transactional id": found.transactional_id,
        "state": found.state,
        "producer": f"{found.producer_id}, epoch {found.producer_epoch}",
        "coordinator": found.coordinator,
        "timeout": duration_in_words(found.timeout_ms),
        "started": None if found.start_ms is None else readable_time(found.start_ms),
        "open for": None if open_ms is None else duration_in_words(open_ms // 1000 * 1000),
        "partitions": ", ".join(partitions) or None,
    }
    for name, value in lines.items():
        print(f"{name:<18}{'-' if value is None else value}")


@app.command("find-hanging")
@connected
def find_hanging(
    topic: Annotated[str | None, typer.Option("--topic", "-t", metavar="TOPIC", help="Only this topic.")] = None,
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than",
            metavar="DURATION",
            help="Report transactions that are open longer than this; the brokers' transaction.max.timeout.ms.",
        ),
    ] = "15min",
    output_format: OutputFormat = Format.table,
    *,
    access: ClusterAccess,
) -> None:
    """Find transactions that are open in a partition and unknown to their coordinator."""
    from barnabas.cli import transaction_requests as requests
    from barnabas.cli.wire_client import Cluster

    open_ms = duration_ms("--older-than", older_than)
    with Cluster.to(access) as cluster:
        partitions = requests.partitions_of_topics(cluster, None if topic is None else [topic])
        hanging = requests.find_hanging(cluster, partitions, older_than_ms=open_ms)
    is_json = output_format is Format.json
    rows = [
        {
            "topic": each.partition[0],
            "partition": each.partition[1],
            "start_offset": each.start_offset,
            "producer_id": each.producer_id,
            "producer_epoch": each.producer_epoch,
            "last_timestamp": each.last_timestamp if is_json else readable_time(each.last_timestamp),
        }
        for each in hanging
    ]
    columns = ["topic", "partition", "start_offset", "producer_id", "producer_epoch", "last_timestamp"]
    print_rows(rows, columns, output_format, empty="No hanging transactions.")


@app.command()
@connected
def abort(
    transactional_id: Annotated[
        str | None,
        typer.Argument(
            metavar="[TRANSACTIONAL_ID]", help="Abort the open transaction of this id, and fence its producer."
        ),
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option(
            "--topic", "-t", metavar="TOPIC", help="With --partition and --start-offset: a hanging transaction."
        ),
    ] = None,
    partition: Annotated[int, typer.Option("--partition", "-p", metavar="NUMBER", help="Its partition.")] = -1,
    start_offset: Annotated[
        int, typer.Option("--start-offset", metavar="OFFSET", help="Its first offset; see find-hanging.")
    ] = -1,
    *,
    access: ClusterAccess,
) -> None:
    """Abort a transaction by its transactional id, or a hanging one by its first offset."""
    from barnabas.cli import transaction_requests as requests
    from barnabas.cli.wire_client import Cluster

    if (transactional_id is None) == (topic is None):
        raise CommandFailed(
            "give a transactional id, or --topic, --partition and --start-offset of a hanging transaction",
            hint="run barnabas txn list, or barnabas txn find-hanging, to find it",
        )
    with Cluster.to(access) as cluster:
        if transactional_id is not None:
            requests.force_terminate(cluster, transactional_id)
            say(f"Aborted the transaction of {transactional_id}, and fenced its producer.")
            return
        assert topic is not None
        found = requests.open_transaction(cluster, (topic, partition), start_offset)
        if found is None:
            raise CommandFailed(
                f"no open transaction begins at offset {start_offset} of {topic}-{partition}",
                hint="run barnabas txn find-hanging to see where they begin",
            )
        requests.abort(
            cluster,
            found.partition,
            producer_id=found.producer_id,
            producer_epoch=found.producer_epoch,
            coordinator_epoch=found.coordinator_epoch,
        )
    say(f"Aborted the transaction of producer {found.producer_id} in {topic}-{partition}.")
