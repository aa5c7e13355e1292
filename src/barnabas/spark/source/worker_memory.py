"""Memory settings of a worker, made before it reads its first range.

Fetches and their rows are blocks of some megabytes, allocated and freed a hundred times a second: with zstd and records
of 1 KB, getting their pages from the kernel anew was a quarter of a worker's CPU time. And Python's garbage collector
scans all objects of all modules again and again.
"""

import gc
from functools import cache
from typing import Final

from barnabas.portable.allocator import keep_freed_memory

_KEPT_BYTES: Final = 64 << 20


@cache
def settle() -> None:
    """Once in a process."""
    keep_freed_memory(_KEPT_BYTES)
    gc.freeze()
