"""How a command fails: what happened, then what to do next."""

import sys
from collections.abc import Iterable


class CommandFailed(Exception):
    """Ends the command; `hint` is the next step."""

    exit_status = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class WrongUsage(CommandFailed):
    """The command line is wrong."""

    exit_status = 2


def show(error: CommandFailed) -> None:
    print(f"error: {error.message}", file=sys.stderr)
    show_hint(error)


def show_hint(error: CommandFailed) -> None:
    if error.hint:
        print(f"hint: {error.hint}", file=sys.stderr)


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """A hint with the most similar known name, or `otherwise` if none is similar."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]}?" if close else otherwise
