"""Avoids full garbage collections while clients wait.

A full collection visits every object: 100 ms with ten thousand partitions. It finds almost nothing, because what
requests leave behind is freed by reference counts, and young cycles by collections of young objects, which take a
millisecond. So full collections do not start by the number of allocations, but only when the process has grown a lot,
in case that old cycles made it grow.
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


def disable_full_collections() -> None:
    # Objects that exist now live until the end: the collector need not visit them again.
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)


async def collect_after_growth(clock: Clock, peak: Callable[[], int]) -> None:
    """Runs as long as the process. `peak`: the peak memory of the process, in bytes."""
    before = peak()
    while True:
        await clock.sleep_ms(CHECK_MS)
        if peak() - before > GROWTH_BYTES:
            gc.collect()
            before = peak()


def peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
