"""Lets the C library keep freed memory for the next large buffer, instead of returning it to the system at once.

glibc returns freed memory as soon as more than a few hundred kilobytes are free at the end of the heap, and maps large
buffers one by one. A broker that answers fetches of several megabytes then gets each page from the kernel anew, zeroed:
that took half of the CPU time of such an answer.
"""

import ctypes
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
"""From glibc's malloc.h."""

_LARGEST_THRESHOLD: Final = 32 * 1024 * 1024
"""glibc accepts no larger value for M_MMAP_THRESHOLD on 64-bit systems."""


def keep_freed_memory(kept_bytes: int) -> bool:
    """Up to `kept_bytes` of freed memory stay with the process. False: this C library cannot be told."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is None:
        return False
    accepted = set_option(_M_TRIM_THRESHOLD, kept_bytes) and set_option(
        _M_MMAP_THRESHOLD, min(kept_bytes, _LARGEST_THRESHOLD)
    )
    return bool(accepted)
