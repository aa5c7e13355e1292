"""The output of a running pipeline: on a terminal a table that is updated, elsewhere a line now and then."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from barnabas.cli.output import say
from barnabas.cli.pipeline_status import COLUMNS, headline, last_errors, left_out, row_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

    from barnabas.pipeline.status import FlowStatus, Status

LINES_EVERY_S = 10.0


_ENDED = ("finished", "stopped", "failed")
_BLOCKED = "blocked"


class View(Protocol):
    def say(self, message: str) -> None: ...

    def show(self, status: "Status") -> None: ...


@contextmanager
def live_view() -> Iterator[View]:
    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True, highlight=False, markup=False)
    # Drawn only when something changed: other output, such as the console sink's, stays readable above it.
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        yield _Table(console, live)


class _Table:
    def __init__(self, console: "Console", live: "Live") -> None:
        self._console, self._live = console, live

    def say(self, message: str) -> None:
        self._console.print(message)

    def show(self, status: "Status") -> None:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in COLUMNS:
            table.add_column(column.replace("_", " ").upper(), overflow="fold")
        for flow in status.flows:
            values = row_of(flow)
            table.add_row(*("-" if values[column] is None else str(values[column]) for column in COLUMNS))
        lines = [Text(line) for flow in status.flows for line in left_out(flow)]
        lines += [Text(line) for line in last_errors(status)]
        self._live.update(Group(Text(headline(status)), table, *lines), refresh=True)


class Lines:
    """For logs: a line for each flow at its start and end, every so often while it moves, and when it is blocked."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._batches: dict[str, int | None] = {}
        self._said_at = time.monotonic()

    def say(self, message: str) -> None:
        say(message)

    def show(self, status: "Status") -> None:
        now = time.monotonic()
        due = now - self._said_at >= LINES_EVERY_S
        over = all(flow.state in _ENDED for flow in status.flows)
        for flow in status.flows:
            moved = due and flow.batch_id != self._batches.get(flow.name)
            before = self._states.get(flow.name)
            if moved or over or before is None or (flow.state != before and _BLOCKED in (flow.state, before)):
                say(_line(flow))
                self._batches[flow.name] = flow.batch_id
            self._states[flow.name] = flow.state
        if due:
            self._said_at = now


def _line(flow: "FlowStatus") -> str:
    if flow.state == _BLOCKED:
        return f"{flow.name} is blocked: {flow.last_error}"
    values = row_of(flow)
    parts = [f"{name.replace('_', ' ')} {values[name]}" for name in COLUMNS[2:-1] if values[name] is not None]
    parts += left_out(flow, short=True)
    return f"{values['flow']} is {values['state']}" + (f": {', '.join(parts)}" if parts else "")
