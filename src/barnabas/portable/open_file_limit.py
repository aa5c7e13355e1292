"""The limit of open files. The soft limit is only the shell's default, 256 on macOS."""

import resource
from typing import Final

_MACOS_MAX: Final = 10_240
"""OPEN_MAX: macOS often reports no hard limit, and yet refuses a soft limit above this."""


def open_file_limit() -> int | None:
    """None: there is no limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def raise_open_file_limit() -> None:
    """Raise the soft limit to the hard limit, or as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard or soft == resource.RLIM_INFINITY:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        if soft < _MACOS_MAX:
            resource.setrlimit(resource.RLIMIT_NOFILE, (_MACOS_MAX, hard))
