"""`barnabas pipeline dead-letters | replay-dead-letters`."""

from typing import Annotated

import typer

from barnabas.cli.options import Format, OutputFormat
from barnabas.cli.pipeline_options import HERE, Profile, ProjectPath, Settings, Trace, Version, load_project, readable
from barnabas.cli.pipeline_spark import call

Origin = Annotated[
    str | None, typer.Option("--from", metavar="NAME", help="Only those of this source or flow; without it, all.")
]


def dead_letters(
    project: ProjectPath = HERE,
    origin: Origin = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most so many, the newest.")] = 50,
    profile: Profile = None,
    settings: Settings = None,
    output_format: OutputFormat = Format.table,
    trace: Trace = False,
) -> None:
    """List the records that fitted no schema or broke a rule, and say why."""
    with readable(trace=trace):
        found = load_project(project, profile, settings)
        call("dead_letters", "show", found, origin=origin, limit=limit, output_format=output_format.value)


def replay_dead_letters(
    project: ProjectPath = HERE,
    origin: Origin = None,
    version: Version = "v1",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be sent, and send nothing.")] = False,
    profile: Profile = None,
    settings: Settings = None,
    trace: Trace = False,
) -> None:
    """Send dead letters through the flows again, each exactly once: after the rule, the schema or the data is right."""
    with readable(trace=trace):
        found = load_project(project, profile, settings)
        call("dead_letters_replay", "replay", found, origin=origin, version=version, dry_run=dry_run, trace=trace)
