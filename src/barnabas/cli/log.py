"""`barnabas log`: look at a data directory and verify it, without a broker."""

from typing import Annotated

import typer

from barnabas.cli.apps import group_app
from barnabas.cli.errors import CommandFailed
from barnabas.cli.options import Format, OutputFormat
from barnabas.cli.output import plural, print_json, print_rows, say

app = group_app("log")

Path = Annotated[str, typer.Argument(metavar="PATH", help="A data directory, a partition's directory or a segment.")]


@app.command()
def dump(
    path: Path,
    records: Annotated[bool, typer.Option("--records", "-r", help="Show records rather than batches.")] = False,
    from_offset: Annotated[int | None, typer.Option(metavar="OFFSET", help="Start with this offset.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, metavar="NUMBER", help="Stop after so many.")
    ] = None,
    output_format: OutputFormat = Format.table,
) -> None:
    """Show the batches or records of segments."""
    from itertools import islice

    from barnabas.cli.log_files import batch_rows, find_segments, record_rows

    segments = find_segments(path)
    rows = islice((record_rows if records else batch_rows)(segments, from_offset or 0), limit)
    if output_format is Format.json:
        print_json(list(rows))
        return
    columns = ["partition", "offset", "timestamp", "key", "value", "headers"]
    if not records:
        columns = ["partition", "position", "base_offset", "last_offset", "records", "bytes", "codec", "epoch", "valid"]
    print_rows(list(rows), columns, output_format, empty="No records: every segment is empty.")


@app.command()
def verify(
    path: Path,
    deep: Annotated[bool, typer.Option("--deep", help="Also decompress and decode every record.")] = False,
    output_format: OutputFormat = Format.table,
) -> None:
    """Read every byte and say what is damaged. The status is 1 if anything is.

    Checks each batch (length, offsets, CRC) and every file beside them: indexes, aborted transactions, producer
    snapshots, leader epochs, checkpoints, ids. A broker serves the batches that are found readable, and no others.
    """
    from barnabas.cli.file_verification import verify_directory_files
    from barnabas.cli.log_files import find_segments
    from barnabas.cli.log_verification import verify_segments
    from barnabas.cli.progress import progress

    segments = find_segments(path)
    if not segments:
        raise CommandFailed(f"there are no segments in {path}", hint="give the directory that holds the partitions")
    total_bytes = sum(segment.size for segment in segments)
    with progress("Verifying", total_bytes) as advance:
        report = verify_segments(segments, deep=deep, advance=advance)
    damages = [damage._asdict() for damage in [*verify_directory_files(path), *report.damages]]
    if output_format is Format.json:
        print_json(
            {
                "segments": len(segments),
                "batches": report.batches,
                "bytes": total_bytes,
                "damages": damages,
                "readable": [run._asdict() for run in report.readable],
            }
        )
    else:
        print_rows(damages, ["file", "position", "bytes", "offset", "next_offset", "reason"], output_format)
    found = plural(len(damages), "damage") if damages else "no damage"
    say(
        f"{plural(len(segments), 'segment')}, {plural(report.batches, 'batch').replace('batchs', 'batches')}, "
        f"{total_bytes:,} bytes: {found}"
    )
    if damages:
        say("hint: what is not listed can be read; restore a backup, or let readers skip the offsets that are listed")
        raise typer.Exit(1)
