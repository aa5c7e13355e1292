"""What went wrong in a sentence, and what to do about it in another.

Everything in `barnabas.spark` that a person can cause (a topic that is not there, an option that is misspelt) raises
`UserError`. It travels as text: from a Python worker through the JVM to the user's program. Its text is made so that
it can be found again in there (`barnabas.spark.readable`): the message, then one last line that begins with `hint:`.
"""

import os

HINT = "hint: "
TRACE_VARIABLE = "BARNABAS_TRACE"

_TRUE = ("1", "true", "yes", "on")


def wants_trace() -> bool:
    """Whether the user asked for everything: BARNABAS_TRACE=1, or session(trace=True), which sets it."""
    return os.environ.get(TRACE_VARIABLE, "").lower() in _TRUE


class UserError(Exception):
    """A mistake that its reader can correct; the text has no trace in it and ends with the next step."""

    def __init__(self, message: str, hint: str) -> None:
        self.message = message.strip()
        self.hint = " ".join(hint.split())
        super().__init__(f"{self.message}\n{HINT}{self.hint}")

    def __reduce__(self) -> tuple[type["UserError"], tuple[str, str]]:
        return type(self), (self.message, self.hint)
