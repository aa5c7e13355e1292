"""Errors for users: a message, and a hint what to do next.

Every mistake of a user of `barnabas.spark` (a missing topic, a misspelt option) raises `UserError`. It travels as text
from a Python worker through the JVM to the user's program, where `barnabas.spark.readable` finds it again: the message,
then a last line that begins with `hint:`.
"""

import os

HINT = "hint: "
TRACE_VARIABLE = "BARNABAS_TRACE"

_TRUE = ("1", "true", "yes", "on")


def wants_trace() -> bool:
    """Whether to show full traces: BARNABAS_TRACE=1, or session(trace=True), which sets it."""
    return os.environ.get(TRACE_VARIABLE, "").lower() in _TRUE


class UserError(Exception):
    """A mistake that the user can correct; the text has no trace, and ends with the next step."""

    def __init__(self, message: str, hint: str) -> None:
        self.message = message.strip()
        self.hint = " ".join(hint.split())
        super().__init__(f"{self.message}\n{HINT}{self.hint}")

    def __reduce__(self) -> tuple[type["UserError"], tuple[str, str]]:
        return type(self), (self.message, self.hint)
