"""What a list or describe command prints: a table for people, JSON for scripts, both on stdout.

Tables are printed with rich, without colours if NO_COLOR is set or stdout is not a terminal. In a pipe, lines are as
long as their content, so that nothing is cut.
"""

import json
import sys
from collections.abc import Mapping, Sequence

from barnabas.cli.options import Format

Row = Mapping[str, object]
_PIPED_WIDTH = 100_000


def print_rows(rows: Sequence[Row], columns: Sequence[str], output_format: Format, *, empty: str = "") -> None:
    """One line per row; `columns` are the keys to show. JSON has all keys."""
    if output_format is Format.json:
        print_json(rows)
    elif rows:
        print_table(rows, columns)
    elif empty:
        say(empty)


def print_table(rows: Sequence[Row], columns: Sequence[str], *, literal: bool = False) -> None:
    """`literal`: show the names of the columns unchanged, because they are data."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        numeric = any(isinstance(row[column], int) for row in rows)
        header = column if literal else column.replace("_", " ").upper()
        table.add_column(header, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[column]) for column in columns))
    if sys.stdout.isatty():
        Console(highlight=False, markup=False).print(table)
        return
    console = Console(width=_PIPED_WIDTH, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))  # without padding at the end


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def say(message: str) -> None:
    """A message for people, on stderr, so that it does not mix with data."""
    print(message, file=sys.stderr)


def readable_time(timestamp_ms: int) -> str:
    """In this machine's zone, to the second: `2026-01-31 12:00:00+01:00`."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).astimezone().isoformat(sep=" ", timespec="seconds")


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    return str(value)
