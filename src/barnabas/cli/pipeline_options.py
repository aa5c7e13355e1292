"""Options and helpers that the commands of `barnabas pipeline` share."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.errors import CommandFailed
from barnabas.cli.shared_options import replace_parameter

if TYPE_CHECKING:
    from barnabas.pipeline.project import Project

HERE = Path()

ProjectPath = Annotated[
    Path, typer.Option("--project", "-C", metavar="FOLDER", help="The project's folder. Default: the current one.")
]
Profile = Annotated[
    str | None,
    typer.Option(metavar="NAME", envvar="BARNABAS_PROFILE", help="Use this profile of pipeline.yaml."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a value, such as log.bootstrap=kafka:9092; repeatable."),
]
Version = Annotated[str, typer.Option("--version", metavar="VERSION", help="The version of the pipeline.")]
Trace = Annotated[bool, typer.Option("--trace", help="Show errors with full traces.")]


def with_project(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a project to a command, and pass it the project as `found`, and `trace` if it takes that."""
    wants_trace = "trace" in inspect.signature(command).parameters

    @wraps(command)
    def run(*, project: Path, profile: str | None, settings: list[str] | None, trace: bool, **rest: object) -> None:
        with readable(trace=trace):
            if wants_trace:
                rest["trace"] = trace
            command(found=load_project(project, profile, settings), **rest)

    options = {
        "project": (ProjectPath, HERE),
        "profile": (Profile, None),
        "settings": (Settings, None),
        "trace": (Trace, False),
    }
    return replace_parameter(command, "found", options, run)


def load_project(
    folder: Path, profile: str | None, settings: list[str] | None, *, kept: Path | None = None
) -> "Project":
    """`kept`: a folder with an earlier copy of its texts, to read instead."""
    try:
        from barnabas.pipeline.project import load
    except ModuleNotFoundError as error:
        raise CommandFailed(
            f"pipelines need the package {error.name}", hint="install it: pip install 'barnabas[spark]'"
        ) from None
    return load(folder, profile=profile, overrides=settings or (), kept=kept)


@contextmanager
def readable(*, trace: bool = False) -> Iterator[None]:
    """A user's mistake ends the command with a message; with `trace`, the traceback is shown first."""
    from barnabas.spark.errors import UserError, wants_trace

    try:
        yield
    except UserError as error:
        if trace or wants_trace():
            import traceback

            traceback.print_exc()
        raise CommandFailed(error.message, hint=error.hint) from None
