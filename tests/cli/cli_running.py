"""The result of a command that was run in this process."""

from collections.abc import Callable
from typing import NamedTuple


class CommandResult(NamedTuple):
    status: int
    out: str
    err: str

    def good(self) -> str:
        """What it printed; fails unless it succeeded."""
        assert self.status == 0, self.err + self.out
        return self.out


Run = Callable[..., CommandResult]
