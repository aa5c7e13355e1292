"""Makes commands with typer, and runs them with error messages of our own."""

import re
import sys
from collections.abc import Callable
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from barnabas.cli.commands import COMMANDS
from barnabas.cli.errors import WrongUsage
from barnabas.cli.usage import UsageError, to_wrong_usage
from barnabas.cli.values import ValueReader

_SETTINGS: Final[dict[str, Any]] = {
    "add_completion": False,  # `barnabas completion` prints a script that needs no Python for commands and flags
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
_PYTHON_TYPE: Final = re.compile(r" <(?:list\[)?(?:str|int|float|path|file|directory|Path)[^>\n]*>")


class _OwnReaders:
    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of the command that this is mixed into
        for parameter in found:
            reader = ValueReader(parameter)
            parameter.get_runtime_param = lambda reader=reader: reader
        return found


class _Group(_OwnReaders, TyperGroup):
    pass


class _Command(_OwnReaders, TyperCommand):
    def get_help(self, ctx: Any) -> str:
        """Without Python's types: blanks in their place keep the columns."""
        return _PYTHON_TYPE.sub(lambda found: " " * len(found[0]), super().get_help(ctx))


class _App(typer.Typer):
    def command(self, name: str | None = None, **settings: Any) -> Any:
        return super().command(name, cls=_Command, **settings)


def group_app(name: str) -> typer.Typer:
    """A command with subcommands."""
    app = _App(cls=_Group, help=COMMANDS[name], no_args_is_help=True, **_SETTINGS)
    app.callback()(_stay_a_group)
    return app


def single_app(command: Callable[..., None]) -> typer.Typer:
    app = _App(**_SETTINGS)
    app.command()(command)
    return app


def run_app(app: typer.Typer, name: str, arguments: list[str], handed_on: list[str]) -> int:
    """Returns the exit status. `handed_on`: options from before the command, for the subcommand."""
    command, called = get_command(app), f"barnabas {name}"
    below: dict[str, Any] = getattr(command, "commands", {})
    first = [arguments[0]] if arguments and arguments[0] in below else []
    if first or not below:
        arguments = [*first, *handed_on, *arguments[len(first) :]]
    try:
        with command.make_context(called, arguments) as context:
            command.invoke(context)
    except typer.Exit as exit_:
        return exit_.exit_code
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its text is the help page
            print(error, file=sys.stderr)
            return WrongUsage.exit_status
        raise to_wrong_usage(error, " ".join([called, *first])) from error
    return 0


def _stay_a_group() -> None:
    """Without a callback, typer turns a group of one command into that command."""
