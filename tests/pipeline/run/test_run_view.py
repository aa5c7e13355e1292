"""The output of a run: a table in a terminal, lines in a log."""

import io
import time
from dataclasses import replace

import pytest
from rich.console import Console
from rich.live import Live

from barnabas.cli import pipeline_view
from barnabas.pipeline.status import FlowStatus, State, Status, of_this_process


def status(state: State, batch: int | None, late: int = 0) -> Status:
    flow = FlowStatus("averages", state, time.time(), batch_id=batch, lag=7, late_rows=late, broken_rules={"r.x": 2})
    return of_this_process("shop", "v1", time.time(), [flow])


def test_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    view = pipeline_view.Lines()
    for batch in (None, 0, 1):
        view.show(status(State.RUNNING, batch))
    monkeypatch.setattr(pipeline_view, "LINES_EVERY_S", 0.0)
    view.show(status(State.RUNNING, 1))
    view.show(status(State.RUNNING, 1))
    view.say("averages failed")
    view.show(status(State.FINISHED, 2, late=3))
    assert capsys.readouterr().err.splitlines() == [
        "averages is running: lag 7",
        "averages is running: batch 1, lag 7",
        "averages failed",
        "averages is finished: batch 2, lag 7, 3 late",
    ]


def test_lines_say_at_once_that_the_broker_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    view = pipeline_view.Lines()
    running = status(State.WAITING, 1)
    (flow,) = running.flows
    blocked = replace(flow, state=State.BLOCKED, lag=None, last_error="cannot reach localhost:9092")
    for shown in (flow, blocked, blocked, flow, flow):
        view.show(replace(running, flows=(shown,)))
    assert capsys.readouterr().err.splitlines() == [
        "averages is waiting: batch 1, lag 7",
        "averages is blocked: cannot reach localhost:9092",
        "averages is waiting: batch 1, lag 7",
    ]


def test_table() -> None:
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=140, highlight=False, markup=False)
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        view = pipeline_view._Table(console, live)
        view.show(status(State.RUNNING, 4, late=3))
        view.say("[not a style]")
    shown = output.getvalue()
    assert "shop v1: running" in shown
    assert "averages: 3 late, 2 broke the rule r.x" in shown
    assert "[not a style]" in shown
