"""The steps of the protocol, each with a name. Tests end a process at one of them; production does nothing there.

The names are in the order in which a batch passes them. "after-" means that the broker has answered.
"""

from collections.abc import Callable
from typing import Final

Hook = Callable[[str], None]

TASK_BEGUN: Final = "task-begun"
TASK_LOOKED: Final = "task-after-look"
TASK_TOOK_OVER: Final = "task-after-take-over"
TASK_WRITING: Final = "task-writing"
TASK_FLUSHED: Final = "task-after-flush"

DRIVER_BEGUN: Final = "driver-begun"
DRIVER_TOOK_OVER: Final = "driver-after-take-over"
DRIVER_LOOKED: Final = "driver-after-look"
DECISION_WRITTEN: Final = "driver-after-decision-records"
POINTER_WRITTEN: Final = "driver-after-pointer"
DECIDED: Final = "driver-after-decision"
TASKS_ENDED: Final = "driver-after-ends"
OUTCOME_READ: Final = "driver-after-outcomes"
COPYING: Final = "driver-copying"
COPIED: Final = "driver-after-copies"
DONE_WRITTEN: Final = "driver-after-done-record"
ROLLED_FORWARD: Final = "driver-after-roll-forward"
SWEEPING: Final = "driver-sweeping"
DRIVER_ENDED: Final = "driver-ended"

ABORT_BEGUN: Final = "abort-begun"
ABORT_ENDED: Final = "abort-ended"

TASK_STEPS: Final = (TASK_BEGUN, TASK_LOOKED, TASK_TOOK_OVER, TASK_WRITING, TASK_FLUSHED)
COMMIT_STEPS: Final = (
    DRIVER_BEGUN,
    DRIVER_TOOK_OVER,
    DRIVER_LOOKED,
    DECISION_WRITTEN,
    POINTER_WRITTEN,
    DECIDED,
    TASKS_ENDED,
    SWEEPING,
    DRIVER_ENDED,
)
ROLL_FORWARD_STEPS: Final = (OUTCOME_READ, COPYING, COPIED, DONE_WRITTEN, ROLLED_FORWARD)
"""Only if a transaction of a decided batch was aborted."""


def no_hook(step: str) -> None:
    """Do nothing."""
