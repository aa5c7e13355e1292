"""Vectored writes, syncs and page cache lookups, with fallbacks for systems that lack them."""

import errno
import fcntl
import os
from collections.abc import Callable, Sequence
from typing import Final

Buffer = bytes | bytearray | memoryview

_FULL_SYNC: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)
_NO_WAIT: Final[int | None] = getattr(os, "RWF_NOWAIT", None)

PIECES_MAX: Final = 1024
"""The most that Linux and macOS accept in one vectored write (IOV_MAX)."""


def full_sync(descriptor: int) -> None:
    """Return once file and bytes are on the device. On macOS plain `fsync` only hands them to the drive's cache."""
    if _FULL_SYNC is not None:
        try:
            fcntl.fcntl(descriptor, _FULL_SYNC)
        except OSError as error:  # not every file system supports it, network file systems do not
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOTTY):
                raise
        else:
            return
    os.fsync(descriptor)


sync_data: Final[Callable[[int], None]] = getattr(os, "fdatasync", full_sync)
"""Return once the file's bytes are on the device; its timestamps may follow later."""


def sync_directory(path: str | os.PathLike[str]) -> None:
    """Return once renamed, new and removed entries of the directory are on the device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        full_sync(descriptor)
    finally:
        os.close(descriptor)


def write_joined(descriptor: int, pieces: Sequence[Buffer], position: int) -> int:
    return os.pwrite(descriptor, b"".join(pieces), position)


write_pieces: Final[Callable[[int, Sequence[Buffer], int], int]] = getattr(os, "pwritev", write_joined)
"""Write up to PIECES_MAX pieces consecutively; returns the number of bytes written, which may be less."""


def read_cached(descriptor: int, position: int, size: int) -> bytes | None:
    """Up to `size` bytes, if they can be read without waiting for the device; otherwise None.

    Waits where the system cannot tell.
    """
    if _NO_WAIT is None:
        return os.pread(descriptor, size, position)
    data = bytearray(size)
    try:
        found = os.preadv(descriptor, [data], position, _NO_WAIT)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
        return os.pread(descriptor, size, position)
    return bytes(data) if found == size else bytes(data[:found])
