"""How a command fails: what happened, then what to type now."""

import sys


class CommandFailed(Exception):
    """Ends the command with status 1; `hint` is the next step."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def show(error: CommandFailed) -> None:
    print(f"error: {error.message}", file=sys.stderr)
    show_hint(error)


def show_hint(error: CommandFailed) -> None:
    if error.hint:
        print(f"hint: {error.hint}", file=sys.stderr)
