"""Memory settings of a worker, made before it reads its first range.

Fetches and their rows are blocks of some megabytes, allocated and freed a hundred times a second. glibc gives such
blocks back to the kernel, which clears every page that is asked for again: with zstd and records of 1 KB that was a
quarter of a worker's CPU time. And Python's garbage collector scans all objects of all modules again and again.
"""

import ctypes
import gc
from functools import cache
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_KEPT_BYTES: Final = 64 << 20
"""How much may stay unused at the end of the heap."""
_LARGEST_BYTES: Final = 32 << 20
"""The maximum that glibc accepts for this threshold: smaller blocks come from the heap."""


@cache
def settle() -> None:
    """Once in a process."""
    tune = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries neither have nor need it
    if tune is not None:
        tune(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        tune(_M_MMAP_THRESHOLD, _LARGEST_BYTES)
    gc.freeze()
