"""`barnabas txn`: list, describe, find hanging, abort."""

import time
from typing import Annotated, Any

import typer

from barnabas.cli.errors import CommandFailed
from barnabas.cli.options import DEFAULT_SERVERS, Format, OutputFormat, Servers
from barnabas.cli.output import print_json, print_rows, say

app = typer.Typer(
    help="List and describe transactions, find those that hang, abort.", no_args_is_help=True, rich_markup_mode=None
)

Name = Annotated[str, typer.Argument(metavar="TRANSACTIONAL_ID", help="The transactional id.")]


@app.command("list")
def list_(
    longer_than_ms: Annotated[
        int, typer.Option("--longer-than-ms", metavar="MS", help="Only those that have been open for longer.")
    ] = -1,
    pattern: Annotated[
        str | None, typer.Option("--pattern", metavar="REGEX", help="Only transactional ids that match.")
    ] = None,
    output_format: OutputFormat = Format.table,
    servers: Servers = DEFAULT_SERVERS,
) -> None:
    """List transactional ids and the states of their transactions."""
    from barnabas.cli.transaction_requests import list_transactions
    from barnabas.cli.wire_client import Cluster

    with Cluster(servers) as cluster:
        rows = [each._asdict() for each in list_transactions(cluster, duration_ms=longer_than_ms, pattern=pattern)]
    columns = ["transactional_id", "state", "producer_id", "coordinator"]
    print_rows(rows, columns, output_format, empty="No transactional ids: no producer has used one yet.")


@app.command()
def describe(
    transactional_id: Name, output_format: OutputFormat = Format.table, servers: Servers = DEFAULT_SERVERS
) -> None:
    """Show a transaction: its producer, its state and the partitions in it."""
    from barnabas.cli.transaction_requests import describe_transaction
    from barnabas.cli.wire_client import Cluster

    with Cluster(servers) as cluster:
        found = describe_transaction(cluster, transactional_id)
    open_ms = None if found.start_ms is None else int(time.time() * 1000) - found.start_ms
    row: dict[str, Any] = {**found._asdict(), "open_ms": open_ms}
    row["partitions"] = [f"{topic}-{index}" for topic, index in found.partitions]
    if output_format is Format.json:
        print_json(row)
        return
    for name, value in row.items():
        shown = ", ".join(value) if isinstance(value, list) else value
        print(f"{name.replace('_', ' '):<18}{'-' if shown in (None, '') else shown}")


@app.command("find-hanging")
def find_hanging(
    topic: Annotated[str | None, typer.Option("--topic", "-t", metavar="TOPIC", help="Only this topic.")] = None,
    older_than_minutes: Annotated[
        int,
        typer.Option(
            "--older-than-minutes",
            metavar="MINUTES",
            help="The longest that a transaction may be open (transaction.max.timeout.ms).",
        ),
    ] = 15,
    output_format: OutputFormat = Format.table,
    servers: Servers = DEFAULT_SERVERS,
) -> None:
    """Find transactions that a partition has open and no coordinator knows of."""
    from barnabas.cli import transaction_requests as requests
    from barnabas.cli.wire_client import Cluster

    with Cluster(servers) as cluster:
        partitions = requests.partitions_of_topics(cluster, None if topic is None else [topic])
        hanging = requests.find_hanging(cluster, partitions, older_than_ms=older_than_minutes * 60_000)
    rows = [
        {
            "topic": each.partition[0],
            "partition": each.partition[1],
            "start_offset": each.start_offset,
            "producer_id": each.producer_id,
            "producer_epoch": each.producer_epoch,
            "last_timestamp": each.last_timestamp,
        }
        for each in hanging
    ]
    columns = ["topic", "partition", "start_offset", "producer_id", "producer_epoch", "last_timestamp"]
    print_rows(rows, columns, output_format, empty="No transaction hangs.")


@app.command()
def abort(
    transactional_id: Annotated[
        str | None,
        typer.Argument(metavar="[TRANSACTIONAL_ID]", help="Abort what this id has open; fences its producer."),
    ] = None,
    topic: Annotated[
        str | None, typer.Option("--topic", "-t", metavar="TOPIC", help="With the two below: a transaction that hangs.")
    ] = None,
    partition: Annotated[int, typer.Option("--partition", "-p", metavar="NUMBER", help="Its partition.")] = -1,
    start_offset: Annotated[
        int, typer.Option("--start-offset", metavar="OFFSET", help="Where it begins; see find-hanging.")
    ] = -1,
    servers: Servers = DEFAULT_SERVERS,
) -> None:
    """Abort a transaction, by its transactional id or, where it hangs, by the place where it begins."""
    from barnabas.cli import transaction_requests as requests
    from barnabas.cli.wire_client import Cluster

    if (transactional_id is None) == (topic is None):
        raise CommandFailed(
            "name a transactional id, or a hanging transaction by --topic, --partition and --start-offset",
            hint="try: barnabas txn list, or barnabas txn find-hanging",
        )
    with Cluster(servers) as cluster:
        if transactional_id is not None:
            requests.force_terminate(cluster, transactional_id)
            say(f"{transactional_id} has no open transaction any more; its producer is fenced.")
            return
        assert topic is not None
        found = requests.open_transaction(cluster, (topic, partition), start_offset)
        if found is None:
            raise CommandFailed(
                f"no transaction is open in {topic}-{partition} that begins at offset {start_offset}",
                hint="try: barnabas txn find-hanging",
            )
        requests.abort(
            cluster,
            found.partition,
            producer_id=found.producer_id,
            producer_epoch=found.producer_epoch,
            coordinator_epoch=found.coordinator_epoch,
        )
    say(f"The transaction of producer {found.producer_id} in {topic}-{partition} is aborted.")
