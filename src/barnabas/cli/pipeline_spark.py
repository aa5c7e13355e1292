"""`barnabas pipeline run | preview | test`: the commands that need Spark, which is imported when they are called."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barnabas.cli.options import Format, OutputFormat
from barnabas.cli.output import say
from barnabas.cli.pipeline_options import (
    HERE,
    Profile,
    ProjectPath,
    Settings,
    Trace,
    Version,
    load_project,
    readable,
    with_project,
)
from barnabas.cli.pipeline_preview import show
from barnabas.cli.pipeline_view import live_view
from barnabas.cli.spark import suggest_preparing

if TYPE_CHECKING:
    from barnabas.pipeline.project import Project


def call(module: str, function: str, *arguments: object, **named: object) -> Any:
    """Call a function of `barnabas.pipeline`, imported now."""
    return getattr(import_module(f"barnabas.pipeline.{module}"), function)(*arguments, **named)


def run(
    project: ProjectPath = HERE,
    once: Annotated[bool, typer.Option("--once", help="Read what is in the topics now, then stop.")] = False,
    version: Version = "v1",
    as_started: Annotated[
        bool, typer.Option("--as-started", help="Use the logic that the version was started with, not the current one.")
    ] = False,
    accept_changes: Annotated[
        bool,
        typer.Option("--accept-changes", help="Continue although the logic has changed since the version was started."),
    ] = False,
    into_existing: Annotated[
        bool,
        typer.Option(
            "--into-existing",
            help="Write to topics and tables that have other rows already; take over from another folder.",
        ),
    ] = False,
    profile: Profile = None,
    settings: Settings = None,
    trace: Trace = False,
) -> None:
    """Run all flows until they are stopped. A run continues where the last one stopped."""
    with readable(trace=trace):
        found = load_project(project, profile, settings, kept=_kept(project, version) if as_started else None)
        with live_view() as view:
            call(
                "run",
                "run",
                found,
                once=once,
                version=version,
                trace=trace,
                accept_changes=accept_changes,
                into_existing=into_existing,
                say=view.say,
                show=view.show,
            )
    suggest_preparing()


def _kept(project: Path, version: str) -> Path:
    from barnabas.pipeline.driver.logic import kept_logic
    from barnabas.pipeline.location import state_folder, states

    return kept_logic(state_folder(states(project), version), version)


@with_project
def preview(
    found: "Project",
    flow: Annotated[
        str | None, typer.Argument(metavar="[FLOW]", help="A flow or a source. Default: all flows with an output.")
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", "-n", min=1, metavar="N", help="Use the last N records of each partition.")
    ] = 20,
    output_format: OutputFormat = Format.table,
    trace: bool = False,
) -> None:
    """Run the flows over the last records and show the rows. Writes nothing."""
    show(call("preview", "preview", found, flow=flow, rows=rows, trace=trace, say=say), output_format)
    suggest_preparing()


@with_project
def check_cases(
    found: "Project",
    cases: Annotated[
        list[str] | None, typer.Argument(metavar="[CASE]...", help="Folders in tests/. Default: all.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Replace the expected rows by the actual ones.")] = False,
    trace: bool = False,
) -> None:
    """Run each case in tests/ through the flows, and compare with the expected rows. Needs no broker."""
    failures = call("fixtures.testing", "test", found, names=cases or (), update=update, trace=trace, say=say)
    suggest_preparing()
    if failures:
        raise typer.Exit(1)
