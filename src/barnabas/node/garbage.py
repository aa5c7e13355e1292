"""When Python's cycle collector may look at everything: not while clients wait.

A full collection looks at every object there is, which takes 100 ms once there are ten thousand partitions, and finds
next to nothing: what requests leave behind is freed by its reference count, and the young cycles by collections of
young objects, which take a millisecond. So full collections are not left to a count of allocations. They are made once
the process has grown by much, in case that it was old cycles that made it grow.
"""

import gc
import resource
import sys
from collections.abc import Callable
from typing import Final

from barnabas.env import Clock

NEVER: Final = 2**31 - 1
GROWTH_BYTES: Final = 256 * 1024 * 1024
CHECK_MS: Final = 60_000


def collect_the_young_only() -> None:
    # What lives now lives until the end: the collector need not look at it again.
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)


async def collect_after_growth(clock: Clock, peak: Callable[[], int]) -> None:
    """For as long as the process lives. `peak`: the most memory it ever had, in bytes."""
    before = peak()
    while True:
        await clock.sleep_ms(CHECK_MS)
        if peak() - before > GROWTH_BYTES:
            gc.collect()
            before = peak()


def peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
