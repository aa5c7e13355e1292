"""`barnabas archive`: run, status, verify, retain."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.apps import group_app
from barnabas.cli.cluster_access import ClusterAccess
from barnabas.cli.connected import connected
from barnabas.cli.errors import CommandFailed
from barnabas.cli.options import Format, OutputFormat
from barnabas.cli.output import plural, print_json, print_rows, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barnabas.archive.status import PartitionStatus
    from barnabas.client.cluster import Cluster

app = group_app("archive")

Folder = Annotated[
    Path, typer.Option("--to", "-d", metavar="DIR", envvar="BARNABAS_HISTORY", help="The folder of the histories.")
]
Topics = Annotated[list[str], typer.Option("--topic", "-t", metavar="TOPIC", help="The topic to archive; repeatable.")]
Chosen = Annotated[
    list[str] | None, typer.Option("--topic", "-t", metavar="TOPIC", help="Only this topic; repeatable.")
]
Offline = Annotated[bool, typer.Option("--offline", help="Use the files only, without a broker.")]

_COLUMNS = ["topic", "partition", "start", "tiered_through", "files", "rows", "bytes", "lost"]


@app.command()
@connected
def run(
    topic: Topics,
    to: Folder,
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="Typed columns for JSON values, like 'id STRING, at TIMESTAMP'; remembered, '' removes them.",
        ),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Run until stopped.")] = False,
    accept_gap: Annotated[
        bool,
        typer.Option("--accept-gap", help="Continue after records that the log deleted before they were archived."),
    ] = False,
    file_bytes: Annotated[str, typer.Option(metavar="SIZE", help="Start a new file at this size,")] = "256MiB",
    file_rows: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="... or at this number of rows,")
    ] = 10_000_000,
    file_age: Annotated[
        str, typer.Option(metavar="DURATION", help="... or, with --follow, when its first rows are this old.")
    ] = "10min",
    while_parent: Annotated[int | None, typer.Option(hidden=True, help="Stop when this process has ended.")] = None,
    output_format: OutputFormat = Format.table,
    *,
    access: ClusterAccess,
) -> None:
    """Archive committed records that are not archived yet.

    Each file holds one contiguous range of offsets of one partition. The manifest is replaced atomically when a file
    is on disk, so a crash at any moment leaves a correct one, and the next run continues from it.
    """
    from barnabas.cli.quantities import duration_s, size_bytes

    with _command_failures():
        from barnabas.archive.rolling import RollRules
        from barnabas.archive.run import Job, archive
        from barnabas.archive.status import status_of
        from barnabas.cli.archive_watch import watching

        rules = RollRules(size_bytes("--file-bytes", file_bytes), file_rows, duration_s("--file-age", file_age))
        job = Job(tuple(dict.fromkeys(topic)), to, schema, rules, accept_gap, follow)
        settings = _settings(access)
        with watching(follow=follow, several=len(job.topics) > 1, parent=while_parent) as watcher:
            manifests = archive(settings, job, watcher)
    _print_status([one for manifest in manifests.values() for one in status_of(manifest)], _COLUMNS, output_format)


@app.command()
@connected
def status(
    to: Folder,
    topic: Chosen = None,
    offline: Offline = False,
    output_format: OutputFormat = Format.table,
    *,
    access: ClusterAccess,
) -> None:
    """Show how much of each topic is archived, and how far it lags behind the log."""
    with _command_failures():
        from barnabas.archive import status as statuses

        with _cluster(access, offline=offline) as cluster:
            found = [one for name in _histories(to, topic) for one in statuses.status(to, name, cluster)]
    more = [] if offline else ["log_start", "last_stable", "behind"]
    _print_status(found, [*_COLUMNS, *more], output_format)


@app.command()
@connected
def verify(
    to: Folder,
    topic: Chosen = None,
    offline: Offline = False,
    output_format: OutputFormat = Format.table,
    *,
    access: ClusterAccess,
) -> None:
    """Compare histories with the log, record by record, where both have them. Exit status 1 if anything differs."""
    rows: list[dict[str, Any]] = []
    with _command_failures():
        from dataclasses import asdict

        from barnabas.archive.verify import verify as verified
        from barnabas.cli.progress import progress
        from barnabas.history.manifest import load

        names = _histories(to, topic)
        total = sum(piece.bytes for name in names for piece in load(to, name).files())
        with _cluster(access, offline=offline) as cluster, progress("Verifying", total) as advance:
            for name in names:
                rows += [{"topic": name, **asdict(one)} for one in verified(to, name, cluster, on_advance=advance)]
    bad = [row for row in rows if row["problem"]]
    if output_format is Format.json:
        print_json(rows)
    else:
        print_rows(bad, ["topic", "partition", "start", "end", "file", "problem"], output_format)
    compared = sum(row["compared"] for row in rows)
    say(
        f"{plural(len(rows), 'range')}, {plural(sum(row['rows'] for row in rows), 'row')}, "
        f"{plural(compared, 'offset')} compared with the log: {plural(len(bad), 'problem') if bad else 'no problem'}"
    )
    if bad:
        say("hint: restore the file from a backup, or archive to a new folder while the log still has the records")
        raise typer.Exit(1)


@app.command()
def retain(
    to: Folder,
    topic: Chosen = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Remove files whose newest record is older, like 365d.")
    ] = None,
    max_bytes: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Remove the oldest files of a topic until the rest is smaller than this."),
    ] = None,
    output_format: OutputFormat = Format.table,
) -> None:
    """Remove the oldest files of histories. The retention of the log is separate."""
    from barnabas.cli.quantities import duration_s, size_bytes

    if older_than is None and max_bytes is None:
        raise CommandFailed("it is not said what to remove", hint="give --older-than 365d, or --max-bytes 500GB")
    before_ms = None if older_than is None else int((time.time() - duration_s("--older-than", older_than)) * 1000)
    most = None if max_bytes is None else size_bytes("--max-bytes", max_bytes)
    rows: list[dict[str, Any]] = []
    with _command_failures():
        from dataclasses import asdict

        from barnabas.archive import retention

        for name in _histories(to, topic):
            found = retention.retain(to, name, older_than_ms=before_ms, bytes_max=most)
            rows += [{"topic": name, **asdict(one)} for one in found]
    print_rows(rows, ["topic", "partition", "files", "rows", "bytes", "start"], output_format)


def _histories(to: Path, topics: "Sequence[str] | None") -> "Sequence[str]":
    from barnabas.history.manifest import topics_in

    found = topics or topics_in(to)
    if not found:
        raise CommandFailed(f"there is no history in {to}", hint=f"run barnabas archive run --topic TOPIC --to {to}")
    return found


def _print_status(found: "Sequence[PartitionStatus]", columns: list[str], output_format: Format) -> None:
    rows = [{column: getattr(one, column) for column in columns} for one in found]
    print_rows(rows, columns, output_format)


def _settings(access: ClusterAccess) -> Any:
    from barnabas.cli.reachability import check_reachable
    from barnabas.client.properties import client_settings

    check_reachable(access.servers)
    return client_settings({"client.id": "barnabas-archive", **access.properties, "bootstrap.servers": access.servers})


@contextmanager
def _cluster(access: ClusterAccess, *, offline: bool) -> "Iterator[Cluster | None]":
    if offline:
        yield None
        return
    from barnabas.client.cluster import Cluster

    with Cluster(_settings(access)) as cluster:
        yield cluster


@contextmanager
def _command_failures() -> Iterator[None]:
    """Errors of the rooms below become failures of the command."""
    try:
        from barnabas.client.errors import ClientError
        from barnabas.history.errors import HistoryError
        from barnabas.spark.errors import UserError
    except ImportError as error:
        raise _missing(error) from error
    try:
        yield
    except (HistoryError, UserError, ClientError) as failure:
        raise CommandFailed(failure.message, hint=failure.hint) from failure
    except ImportError as error:
        raise _missing(error) from error


def _missing(error: ImportError) -> CommandFailed:
    return CommandFailed(f"the history tier needs the package {error.name}", hint="run pip install 'barnabas[history]'")
