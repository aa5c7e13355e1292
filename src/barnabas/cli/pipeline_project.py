"""`barnabas pipeline init | check | graph`: commands for a project that run nothing."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.errors import CommandFailed
from barnabas.cli.options import Format
from barnabas.cli.output import plural, print_json, say
from barnabas.cli.pipeline_options import HERE, Profile, ProjectPath, Settings, load_project, readable


class Template(StrEnum):
    telemetry = "telemetry"
    minimal = "minimal"


class Drawing(StrEnum):
    text = "text"
    svg = "svg"
    json = "json"
    mermaid = "mermaid"


def init(
    folder: Annotated[Path, typer.Argument(metavar="NAME", help="The folder to create; also the name of the project.")],
    template: Annotated[
        Template, typer.Option(help="telemetry: windows, a join, rules, tests. minimal: one source, one flow.")
    ] = Template.telemetry,
) -> None:
    """Create a new project: pipeline.yaml, flows, tests, a README. Overwrites nothing."""
    with readable():
        from barnabas.pipeline.project.init import init as make

        made = make(folder, template.value)
    say(f"Created a project in {folder}:")
    for path in made:
        say(f"  {path}")
    say("Next:")
    if folder.resolve() != Path.cwd():
        say(f"  cd {folder}")
    say("  barnabas pipeline graph    # show what it does")
    say("  barnabas pipeline test     # run its tests; needs Java, but no broker")
    say("  barnabas pipeline run      # run it until you stop it")


def check(
    project: ProjectPath = HERE,
    profile: Profile = None,
    settings: Settings = None,
    output_format: Annotated[Format, typer.Option("--format", help="Text for people or JSON for scripts.")] = (
        Format.table
    ),
) -> None:
    """Read the project and report everything that is wrong with it. Starts nothing."""
    if output_format is Format.json:
        _check_for_scripts(project, profile, settings)
        return
    with readable():
        found = load_project(project, profile, settings)
    counts = [
        plural(len(found.sources), "source"),
        plural(len(found.tables), "table"),
        plural(len(found.flows), "flow"),
    ]
    say(f"{found.name} is valid: {', '.join(counts)}")


def _check_for_scripts(folder: Path, profile: str | None, settings: list[str] | None) -> None:
    from barnabas.pipeline.project.problems import ProjectInvalid
    from barnabas.spark.errors import UserError

    try:
        found = load_project(folder, profile, settings)
    except ProjectInvalid as error:
        print_json({"valid": False, "problems": [problem.as_object() for problem in error.problems]})
    except UserError as error:
        nowhere = {"file": None, "line": None, "column": None}
        print_json({"valid": False, "problems": [{**nowhere, "message": error.message, "hint": error.hint}]})
    else:
        names = {"sources": list(found.sources), "tables": list(found.tables), "flows": list(found.flows)}
        print_json({"valid": True, "problems": [], "project": found.name, **names})
        return
    raise typer.Exit(1)


def graph(
    project: ProjectPath = HERE,
    profile: Profile = None,
    settings: Settings = None,
    drawing: Annotated[Drawing, typer.Option("--format", help="A tree, a picture, or data.")] = Drawing.text,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file; .svg means --format svg.")
    ] = None,
) -> None:
    """Show where data comes from and where it goes."""
    if output is not None and output.suffix == ".svg" and drawing is Drawing.text:
        drawing = Drawing.svg
    with readable():
        from barnabas.pipeline.graph.model import graph_of

        found = graph_of(load_project(project, profile, settings))
    if drawing is Drawing.json and output is None:
        print_json(found.as_object())
        return
    if drawing is Drawing.json:
        import json

        text = json.dumps(found.as_object(), indent=2, ensure_ascii=False) + "\n"
    elif drawing is Drawing.svg:
        from barnabas.pipeline.graph.svg import svg_of

        text = svg_of(found)
    elif drawing is Drawing.mermaid:
        from barnabas.pipeline.graph.mermaid import mermaid_of

        text = mermaid_of(found)
    else:
        from barnabas.pipeline.graph.text import text_of

        encoding = "utf-8" if output is not None else sys.stdout.encoding or ""
        text = text_of(found, fancy=encoding.lower().replace("-", "") == "utf8")
    if output is None:
        print(text, end="")
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{output} cannot be written: {error.strerror}", hint="choose another file") from None
    say(f"Wrote {output}")
