"""The disk as a parameter: whole-buffer reads and writes at a position, sync, atomic rename.

Every byte the broker stores goes through `Disk` and `File`, so that a simulated disk can lose what was not synced,
tear a write, fail or fill up. All calls are thread-safe on distinct files; `sync` and `read_at` may run on a worker
while the loop writes the same file.
"""

import errno
import os
import shutil
from collections.abc import Sequence
from typing import Final, Protocol

Buffer = bytes | bytearray | memoryview

TEMPORARY: Final = ".tmp"

# Linux refuses more pieces than this in one pwritev (IOV_MAX).
PIECES_MAX = 1024


class File(Protocol):
    @property
    def path(self) -> str: ...

    def size(self) -> int: ...

    def read_at(self, position: int, size: int) -> bytes:
        """Up to `size` bytes; fewer only where the file ends."""

    def read_cached(self, position: int, size: int) -> bytes | None:
        """As `read_at`, but None instead of waiting for the device."""

    def write_at(self, position: int, pieces: Sequence[Buffer]) -> None:
        """Write all pieces one after another, or raise OSError."""

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Return once the bytes are on the device."""

    def close(self) -> None: ...


class Disk(Protocol):
    def open(self, path: str, *, create: bool = False, readonly: bool = False) -> File: ...

    def exists(self, path: str) -> bool: ...

    def is_dir(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def mtime_ms(self, path: str) -> int: ...

    def list_dir(self, path: str) -> list[str]:
        """Names in the directory, sorted."""

    def make_dirs(self, path: str) -> None: ...

    def rename(self, source: str, target: str) -> None:
        """Atomic; replaces `target`. Durable after `sync_dir` of the parent."""

    def remove(self, path: str) -> None: ...

    def remove_tree(self, path: str) -> None: ...

    def sync_dir(self, path: str) -> None: ...

    def read_file(self, path: str) -> bytes: ...

    def replace_file(self, path: str, content: bytes) -> None:
        """Write, sync and rename over `path`: a reader sees the old content or the new, whole.

        A crash may leave the new content, or a part of it, under `path` with TEMPORARY appended.
        """

    def free_bytes(self, path: str) -> int: ...

    def total_bytes(self, path: str) -> int:
        """Of the volume that holds `path`."""


class RealFile:
    __slots__ = ("_fd", "path")

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self._fd = fd

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def read_at(self, position: int, size: int) -> bytes:
        data = os.pread(self._fd, size, position)
        if len(data) == size or not data:
            return data
        pieces = [data]
        got = len(data)
        while got < size:
            more = os.pread(self._fd, size - got, position + got)
            if not more:
                break
            pieces.append(more)
            got += len(more)
        return b"".join(pieces)

    def read_cached(self, position: int, size: int) -> bytes | None:
        # Whether the two ends are in the page cache tells for all between: it is written, read ahead and evicted in
        # runs. A look at one byte of each costs less than the second copy that reading all of it this way would.
        if size and not (self._is_cached(position) and self._is_cached(position + size - 1)):
            return None
        return self.read_at(position, size)

    def _is_cached(self, position: int) -> bool:
        """True as well where the file ends before, and where the file system cannot tell."""
        try:
            os.preadv(self._fd, [bytearray(1)], position, os.RWF_NOWAIT)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
                raise
        return True

    def write_at(self, position: int, pieces: Sequence[Buffer]) -> None:
        # One or two pieces are one batch, by far the most frequent write. If it falls short, it is written again as a
        # whole.
        if len(pieces) == 1:
            piece = pieces[0]
            if os.pwrite(self._fd, piece, position) == len(piece):
                return
        elif len(pieces) == 2 and os.pwritev(self._fd, pieces, position) == len(pieces[0]) + len(pieces[1]):
            return
        self._write_all(position, pieces)

    def _write_all(self, position: int, pieces: Sequence[Buffer]) -> None:
        for first in range(0, len(pieces), PIECES_MAX):
            chunk = pieces[first : first + PIECES_MAX]
            size = sum(map(len, chunk))
            written = os.pwritev(self._fd, chunk, position)
            if written != size:
                self._write_rest(position, b"".join(chunk), written)
            position += size

    def _write_rest(self, position: int, data: bytes, written: int) -> None:
        while written < len(data):
            written += os.pwrite(self._fd, memoryview(data)[written:], position + written)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def sync(self) -> None:
        os.fdatasync(self._fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class RealDisk:
    def open(self, path: str, *, create: bool = False, readonly: bool = False) -> File:
        flags = os.O_RDONLY if readonly else os.O_RDWR
        if create:
            flags |= os.O_CREAT
        return RealFile(path, os.open(path, flags | os.O_CLOEXEC, 0o644))

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def mtime_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def list_dir(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def make_dirs(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def remove_tree(self, path: str) -> None:
        shutil.rmtree(path)

    def sync_dir(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def read_file(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def replace_file(self, path: str, content: bytes) -> None:
        temporary = path + TEMPORARY
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        self.sync_dir(os.path.dirname(path))

    def free_bytes(self, path: str) -> int:
        stats = os.statvfs(path)
        return stats.f_bavail * stats.f_frsize

    def total_bytes(self, path: str) -> int:
        stats = os.statvfs(path)
        return stats.f_blocks * stats.f_frsize
