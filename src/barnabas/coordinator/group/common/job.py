"""Work that takes too long for the event loop: a decision starts it, and a second decision uses the result."""

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from barnabas.coordinator.core.decision import Decision, Now


class Job(NamedTuple):
    key: Hashable
    """Only one job of a key runs at a time: `GroupStore.jobs` has the keys of running jobs."""
    run: Callable[[], Any]
    """Runs in a worker thread on immutable values, while the state may change."""
    then: Callable[[Any, Any, Now], Decision[None]]
    """Gets the current state of the partition, and the result."""
