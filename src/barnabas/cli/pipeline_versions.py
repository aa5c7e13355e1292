"""`barnabas pipeline replay | compare | switch | versions`: run changed logic over the history, beside the old."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.options import Format, OutputFormat
from barnabas.cli.output import plural, print_json, print_table, say
from barnabas.cli.pipeline_options import with_project
from barnabas.cli.pipeline_view import live_view

if TYPE_CHECKING:
    from barnabas.pipeline.project import Project
    from barnabas.pipeline.replay.comparing import Comparison, Difference
    from barnabas.pipeline.replay.listing import FlowOfVersion
    from barnabas.spark.pointer import Target

Flow = Annotated[
    str | None, typer.Argument(metavar="[FLOW]", help="Only this flow. Default: all flows with an output.")
]


@with_project
def replay(
    found: "Project",
    flow: Flow = None,
    new: Annotated[str, typer.Option("--as", metavar="VERSION", help="The new version's name.")] = "v2",
    start: Annotated[
        str, typer.Option("--from", metavar="WHERE", help="earliest, or a time such as 2026-01-31T12:00Z.")
    ] = "earliest",
    once: Annotated[bool, typer.Option("--once", help="Read what is in the topics now, then stop.")] = False,
    full_speed: Annotated[
        bool, typer.Option("--full-speed", help="Do not run with a lower priority than other processes.")
    ] = False,
    trace: bool = False,
) -> None:
    """Run the current logic over the history as a new version, beside the running one, with its own outputs."""
    from barnabas.pipeline.replay.running import replay as run_replay

    with live_view() as view:
        run_replay(
            found,
            flow=flow,
            version=new,
            start=start,
            once=once,
            trace=trace,
            full_speed=full_speed,
            say=view.say,
            show=view.show,
        )


@with_project
def compare(
    found: "Project",
    old: Annotated[str, typer.Argument(metavar="OLD", help="A version, such as v1.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A version, such as v2.")],
    flow: Annotated[str | None, typer.Option("--flow", metavar="FLOW", help="Only this flow.")] = None,
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="COLUMN", help="A column that identifies rows; repeatable.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, metavar="N", help="Show at most N differences.")] = 20,
    output_format: OutputFormat = Format.table,
    trace: bool = False,
) -> None:
    """Show rows that only one version has, and values that differ. The exit status is 1 if there are any."""
    from barnabas.pipeline.replay.comparing import compare as compared

    results = compared(found, old=old, new=new, flow=flow, key=key or (), limit=limit, trace=trace)
    if output_format is Format.json:
        print_json([asdict(each) for each in results])
    else:
        for each in results:
            _print_comparison(each, old, new)
    if any(each.differences for each in results):
        raise typer.Exit(1)


@with_project
def switch(
    found: "Project",
    version: Annotated[str, typer.Argument(metavar="VERSION", help="The version for readers to see.")],
    flow: Annotated[str | None, typer.Option("--flow", metavar="FLOW", help="Only this flow.")] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Even if it has read less than the current version.")
    ] = False,
) -> None:
    """Let readers of tables and topics see another version, in one step; or the old one again."""
    from barnabas.pipeline.replay.switching import switch as switched

    moves = switched(found, version=version, flow=flow, anyway=anyway, say=say)
    for move in moves:
        before = "" if move.old is None else f", no longer {_where(move.old)}"
        print(f"{move.flow}: readers now see {_where(move.new)}{before}")
    if not moves:
        print(f"Readers already see {version}")
    topics = [move for move in moves if move.old is not None and move.old.topic and move.new.topic]
    if topics:
        names = ", ".join(f"{move.old.topic} -> {move.new.topic}" for move in topics if move.old is not None)
        say(f"Consumers that name a topic themselves must change it: {names}")


@with_project
def versions(found: "Project", output_format: OutputFormat = Format.table) -> None:
    """List versions: which one is current (the one readers see), how far each has read, and where it writes."""
    from barnabas.pipeline.replay.listing import versions as listed

    listing = listed(found)
    if output_format is Format.json:
        print_json([_as_object(each) for each in listing])
    elif listing:
        print_table([_as_row(each) for each in listing], ("version", "flow", "current", "state", "lag", "output"))
    else:
        say("No version has run here yet: barnabas pipeline run")


def _as_object(each: "FlowOfVersion") -> dict[str, object]:
    return {
        "version": each.version,
        "flow": each.flow,
        "current": each.is_current,
        "state": None if each.health is None else each.health.value,
        "lag": each.lag,
        "topic": None if each.target is None else each.target.topic,
        "table": None if each.target is None else each.target.table,
    }


def _as_row(each: "FlowOfVersion") -> dict[str, object]:
    output = None
    if each.target is not None:
        output = f"topic {each.target.topic}" if each.target.topic is not None else f"table {each.target.table}"
    return {**_as_object(each), "current": "yes" if each.is_current else None, "output": output}


def _where(target: "Target") -> str:
    return f"the topic {target.topic}" if target.topic is not None else f"the table {target.table}"


def _print_comparison(found: "Comparison", old: str, new: str) -> None:
    by = f"rows identified by {', '.join(found.key)}" if found.key else "whole rows compared"
    print(
        f"{found.flow}: {plural(found.same, 'row')} the same, {found.different:,} different, "
        f"{found.only_old:,} only in {old}, {found.only_new:,} only in {new} ({by})"
    )
    if found.examples:
        print_table([_row(each, old, new) for each in found.examples], ("difference", "row", old, new))


def _row(each: "Difference", old: str, new: str) -> dict[str, object]:
    from barnabas.pipeline.replay.comparing import ONLY_NEW, ONLY_OLD

    kind = {ONLY_OLD: f"only in {old}", ONLY_NEW: f"only in {new}"}.get(each.kind, each.kind)
    return {"difference": kind, "row": _columns(each.key), old: _columns(each.old), new: _columns(each.new)}


def _columns(columns: dict[str, str | None]) -> str | None:
    return ", ".join(f"{name}={'null' if value is None else value}" for name, value in columns.items()) or None
