"""Turns typer's usage errors into ours, so that all commands report errors in one style.

Typer contains a copy of click. Of its error classes only `typer.BadParameter` is public; the others are recognised by
their names.
"""

from typing import Any, Final

import typer

from barnabas.cli.errors import WrongUsage, suggestion
from barnabas.cli.values import name_of

UsageError: Final[type[Exception]] = typer.BadParameter.__bases__[0]


def to_wrong_usage(error: Any, command: str) -> WrongUsage:
    """`command`: what was called, such as `barnabas topic create`."""
    see = f"see {command} --help"
    called: Any = error.ctx and error.ctx.command
    match type(error).__name__:
        case "MissingParameter":
            return WrongUsage(f"{name_of(error.param)} is missing", hint=see)
        case "NoSuchOption":
            known = [option for parameter in called.params for option in parameter.opts] if called else []
            hint = suggestion(error.option_name, known, see)
            return WrongUsage(f"{command} has no option {error.option_name}", hint=hint)
        case "BadOptionUsage":
            needs = "takes no value" if "does not" in error.message else "needs a value"
            return WrongUsage(f"{error.option_name} {needs}", hint=see)
    if called and getattr(called, "commands", {}):
        name = error.message.partition("'")[2].partition("'")[0]
        return WrongUsage(f"{command} has no command {name}", hint=suggestion(name, called.commands, see))
    if "extra argument" in error.message:
        extra = error.message.rpartition(" (")[2].rstrip(").")
        return WrongUsage(f"{command} does not take {extra!r}", hint=see)
    return WrongUsage(error.message, hint=see)
