"""`barnabas pipeline status | stop`: the state of a pipeline, from the file that it writes beside its checkpoints."""

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.options import Format, OutputFormat
from barnabas.cli.output import plural, print_json, print_table, say
from barnabas.cli.pipeline_options import HERE, ProjectPath, Version, readable

if TYPE_CHECKING:
    from barnabas.pipeline.status import Status

COLUMNS = ("flow", "state", "batch", "in/s", "out/s", "lag", "watermark", "state_rows", "state_size", "updated")
_WATCH_S = 1.0
_CLEAR = "\x1b[H\x1b[2J"
_NEVER_RAN = "has never run here: barnabas pipeline run"


def status(
    project: ProjectPath = HERE,
    version: Annotated[
        str | None, typer.Option("--version", metavar="VERSION", help="Only this version. Default: all.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Repeat every second until the pipeline ends.")] = False,
    output_format: OutputFormat = Format.table,
) -> None:
    """Show rates, lag, watermark, state and the last error of each flow. The exit status is 1 if something is wrong."""
    with readable():
        from barnabas.pipeline import location
        from barnabas.pipeline.status import ALIVE, Health, health

        folder = location.states(project)
        while True:
            found = _statuses(folder, version)
            healths = [health(each) for each in found]
            _show(found, output_format, watch=watch)
            if not watch or not any(each in ALIVE for each in healths):
                break
            time.sleep(_WATCH_S)
    if not {Health.RUNNING, Health.STOPPED, Health.FINISHED}.issuperset(healths):
        raise typer.Exit(1)


def stop(
    project: ProjectPath = HERE,
    version: Version = "v1",
    timeout: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How long to wait before sending SIGTERM.")
    ] = 60.0,
) -> None:
    """Stop a running pipeline after its current batches, and wait until it has ended."""
    with readable():
        from barnabas.pipeline import location
        from barnabas.pipeline.status import health
        from barnabas.pipeline.stop import stop as stop_and_wait

        folder = location.state_folder(location.states(project), version)
        last = stop_and_wait(folder, timeout_s=timeout, say=say)
    say(f"{last.project} {last.version} is {health(last)}")


def _statuses(folder: Path, version: str | None) -> "list[Status]":
    from barnabas.pipeline.location import state_folder
    from barnabas.pipeline.status import read, versions

    names = versions(folder) if version is None else [version]
    return [found for found in (read(state_folder(folder, name)) for name in names) if found is not None]


def _show(found: "list[Status]", output_format: Format, *, watch: bool) -> None:
    from barnabas.pipeline.status import health

    if output_format is Format.json:
        objects = [{**_as_object(each), "health": health(each).value} for each in found]
        if watch:
            print(json.dumps(objects, ensure_ascii=False), flush=True)
        else:
            print_json(objects)
        return
    if watch and sys.stdout.isatty():
        print(_CLEAR, end="")
    if not found:
        say(f"This pipeline {_NEVER_RAN}")
    for index, each in enumerate(found):
        print(("\n" if index else "") + headline(each), flush=True)
        if each.flows:
            print_table([row_of(flow) for flow in each.flows], COLUMNS)
        for flow in each.flows:
            for line in left_out(flow):
                print(line)
        for line in last_errors(each):
            print(line)


def headline(status: "Status") -> str:
    from barnabas.pipeline.status import Health, health

    now, judged = time.time(), health(status)
    where = f"process {status.pid} on {status.host}"
    text = f"{status.project} {status.version}: {judged}"
    if judged is Health.RUNNING:
        return f"{text} for {ago(now - status.started_at)}, {where}"
    if judged is Health.DEGRADED:
        return f"{text}: {_troubles(status)}; {where}, running for {ago(now - status.started_at)}"
    if judged is Health.SILENT:
        return f"{text}: {where} has not reported for {ago(now - status.updated_at)}; look at its output, or stop it"
    if judged is Health.DEAD:
        return (
            f"{text}: {where} ended {ago(now - status.updated_at)} ago without being stopped; start it again: "
            "barnabas pipeline run (it continues where it was)"
        )
    return f"{text} {ago(now - status.updated_at)} ago"


def _troubles(status: "Status") -> str:
    """How many flows are blocked, retrying or failed."""
    from barnabas.pipeline.status import IN_TROUBLE

    counts = Counter(flow.state for flow in status.flows if flow.state in IN_TROUBLE)
    return ", ".join(f"{plural(count, 'flow')} {state}" for state, count in counts.items())


def last_errors(status: "Status") -> list[str]:
    """Each error once, with the flows that have it: without a broker all have the same."""
    found: dict[str, list[str]] = {}
    for flow in status.flows:
        if flow.last_error:
            found.setdefault(flow.last_error, []).append(flow.name)
    return [f"last error of {', '.join(names)}: {error}" for error, names in found.items()]


def row_of(flow: Any) -> dict[str, object]:
    return {
        "flow": flow.name,
        "state": flow.state.value,
        "batch": flow.batch_id,
        "in/s": _rate(flow.input_rows_per_s),
        "out/s": _rate(flow.output_rows_per_s),
        "lag": flow.lag,
        "watermark": flow.watermark,
        "state_rows": flow.state_rows,
        "state_size": None if flow.state_bytes is None else size(flow.state_bytes),
        "updated": f"{ago(time.time() - flow.updated_at)} ago",
    }


def left_out(flow: Any, *, short: bool = False) -> list[str]:
    """Rows that were left out, and rules that rows broke, since the run began."""
    counts = {
        "late": flow.late_rows,
        "behind the watermark": flow.behind_watermark,
        "dead letters": flow.dead_rows,
        "dropped by rules": flow.dropped_rows,
    }
    parts = [f"{count:,} {what}" for what, count in counts.items() if count]
    rules = [f"{count:,} broke the rule {name}" for name, count in flow.broken_rules.items()]
    if flow.restarts:
        parts.append(f"restarted {plural(flow.restarts, 'time')}")
    if short:
        return parts
    return [f"{flow.name}: {', '.join([*parts, *rules])}"] if parts or rules else []


def _as_object(status: "Status") -> dict[str, Any]:
    import msgspec

    built: dict[str, Any] = msgspec.to_builtins(status)
    return built


def _rate(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def size(count: int) -> str:
    value, unit = float(count), "B"
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"


def ago(seconds: float) -> str:
    """In the largest suitable unit."""
    seconds = max(0.0, seconds)
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
