"""`barnabas pipeline replay | compare | switch | versions`: changed logic over the whole history, beside the old."""

from typing import Annotated

import typer

from barnabas.cli.options import Format, OutputFormat
from barnabas.cli.pipeline_options import HERE, Profile, ProjectPath, Settings, Trace, load_project, readable
from barnabas.cli.pipeline_spark import call

Flow = Annotated[str | None, typer.Argument(metavar="[FLOW]", help="Only this flow; without it, all with an output.")]


def replay(
    flow: Flow = None,
    project: ProjectPath = HERE,
    new: Annotated[str, typer.Option("--as", metavar="VERSION", help="The new version's name.")] = "v2",
    start: Annotated[
        str, typer.Option("--from", metavar="WHERE", help="earliest, or a time such as 2026-01-31T12:00Z.")
    ] = "earliest",
    once: Annotated[bool, typer.Option("--once", help="End when it has caught up.")] = False,
    profile: Profile = None,
    settings: Settings = None,
    trace: Trace = False,
) -> None:
    """Run the logic as it is now over history, beside the running version, into outputs of its own."""
    with readable(trace=trace):
        found = load_project(project, profile, settings)
        call("replay", "replay", found, flow=flow, version=new, start=start, once=once, trace=trace)


def compare(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A version, such as v1.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A version, such as v2.")],
    flow: Annotated[str | None, typer.Option("--flow", metavar="FLOW", help="Only this flow.")] = None,
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="COLUMN", help="What makes rows the same row; repeatable.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, metavar="N", help="Show so many differences.")] = 20,
    project: ProjectPath = HERE,
    profile: Profile = None,
    settings: Settings = None,
    output_format: OutputFormat = Format.table,
    trace: Trace = False,
) -> None:
    """Show rows that only one version has, and values that differ. Ends with 1 if there are any."""
    with readable(trace=trace):
        found = load_project(project, profile, settings)
        differences = call(
            "replay",
            "compare",
            found,
            old=old,
            new=new,
            flow=flow,
            key=key or (),
            limit=limit,
            output_format=output_format.value,
            trace=trace,
        )
    if differences:
        raise typer.Exit(1)


def switch(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="The version that readers shall see.")],
    flow: Annotated[str | None, typer.Option("--flow", metavar="FLOW", help="Only this flow.")] = None,
    project: ProjectPath = HERE,
    profile: Profile = None,
    settings: Settings = None,
    trace: Trace = False,
) -> None:
    """Let readers of tables and topics see another version, from one moment to the next; or the old one again."""
    with readable(trace=trace):
        found = load_project(project, profile, settings)
        call("replay", "switch", found, version=version, flow=flow)


def versions(
    project: ProjectPath = HERE,
    profile: Profile = None,
    settings: Settings = None,
    output_format: OutputFormat = Format.table,
    trace: Trace = False,
) -> None:
    """List versions: which one readers see, how far each is, where it writes."""
    with readable(trace=trace):
        found = load_project(project, profile, settings)
        call("replay", "versions", found, output_format=output_format.value)
