"""What a command that was run in this process left behind."""

from collections.abc import Callable
from typing import NamedTuple


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    def good(self) -> str:
        """What it printed, if it ended well."""
        assert self.status == 0, self.err + self.out
        return self.out


Run = Callable[..., Ran]
