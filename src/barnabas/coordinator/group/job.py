"""Work that takes too long for the loop: a core hands it out with a decision, and decides again on what came of it."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from barnabas.coordinator.decision import Decision, Now


class Job(NamedTuple):
    key: Hashable
    """One at a time: while it runs, `GroupStore.jobs` has the key, and another of that key is not begun."""
    run: Callable[[], Any]
    """Pure: it works on values, in a thread, while the state goes on."""
    then: Callable[[Any, Any, Now], Decision[None]]
    """Given the store of the partition as it is by then, and the result."""
