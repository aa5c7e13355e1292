"""The disk as a parameter: whole-buffer reads and writes at a position, sync, atomic rename.

Every byte the broker stores goes through `Disk` and `File`, so that a simulated disk can lose what was not synced,
tear a write, fail or fill up. All calls are thread-safe on distinct files; `sync` and `read_at` may run on a worker
while the loop writes the same file.

A real disk keeps only a limited number of files open at a time (`open_files`).
"""

import errno
import os
import shutil
from collections.abc import Sequence
from mmap import PAGESIZE
from typing import Protocol

from barnabas.env.file_range import FileRange
from barnabas.env.open_files import Descriptor, OpenFiles
from barnabas.portable.files import (
    PIECES_MAX,
    Buffer,
    read_cached,
    sync_data,
    sync_directory,
    write_pieces,
)
from barnabas.portable.replacement import TEMPORARY


class File(Protocol):
    @property
    def path(self) -> str: ...

    def size(self) -> int: ...

    def read_at(self, position: int, size: int) -> bytes:
        """Up to `size` bytes; fewer only where the file ends."""

    def read_cached(self, position: int, size: int) -> bytes | None:
        """As `read_at`, but None instead of waiting for the device."""

    def cached_range(self, position: int, size: int) -> FileRange | None:
        """The same bytes for a socket, unread; None: they are not cached, or this is not a file of the kernel's."""

    def write_at(self, position: int, pieces: Sequence[Buffer]) -> None:
        """Write all pieces consecutively, or raise OSError."""

    def truncate(self, size: int) -> None: ...

    def moved_to(self, path: str) -> None:
        """The file was renamed."""

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

    def replace_file(self, path: str, content: bytes, *, sync: bool = True) -> None:
        """Write, sync and rename over `path`: a reader sees the old content or the new, whole.

        A crash may leave the new content, or a part of it, under `path` with TEMPORARY appended. Made of the disk's
        other operations, so that tests can fail and crash at each of them. Without `sync` it is durable once the
        caller has synced file and directory.
        """
        temporary = path + TEMPORARY
        file = self.open(temporary, create=True)
        try:
            if file.size():
                file.truncate(0)
            file.write_at(0, [content])
            if sync:
                file.sync()
        finally:
            file.close()
        self.rename(temporary, path)
        if sync:
            self.sync_dir(os.path.dirname(path))

    def free_bytes(self, path: str) -> int: ...

    def total_bytes(self, path: str) -> int:
        """Of the volume that holds `path`."""


class RealFile:
    __slots__ = ("_descriptor", "_flags", "_is_closed", "_open_files", "path", "was_used")

    def __init__(self, path: str, flags: int, open_files: OpenFiles) -> None:
        self.path = path
        self.was_used = False
        self._flags = flags & ~os.O_CREAT
        self._open_files = open_files
        self._is_closed = False
        self._descriptor: Descriptor | None = None
        self._open(flags)

    def _open(self, flags: int) -> Descriptor:
        descriptor = self._descriptor = Descriptor(os.open(self.path, flags | os.O_CLOEXEC, 0o644))
        self._open_files.add(self)
        return descriptor

    def _opened(self) -> Descriptor:
        """An open descriptor; it stays open as long as the caller holds it."""
        self.was_used = True
        descriptor = self._descriptor
        if descriptor is None:
            if self._is_closed:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
            descriptor = self._open(self._flags)
        return descriptor

    def close_for_now(self) -> None:
        self._descriptor = None

    def moved_to(self, path: str) -> None:
        self.path = path

    def size(self) -> int:
        descriptor = self._opened()
        return os.fstat(descriptor.number).st_size

    def read_at(self, position: int, size: int) -> bytes:
        descriptor = self._opened()
        data = os.pread(descriptor.number, size, position)
        if len(data) == size or not data:
            return data
        pieces = [data]
        got = len(data)
        while got < size:
            more = os.pread(descriptor.number, size - got, position + got)
            if not more:
                break
            pieces.append(more)
            got += len(more)
        return b"".join(pieces)

    def read_cached(self, position: int, size: int) -> bytes | None:
        # If both ends are in the page cache, so is everything between them: pages are written, read ahead and evicted
        # in runs. For long reads, probing one byte at each end is cheaper than reading all of it with RWF_NOWAIT, which
        # copies it twice.
        descriptor = self._opened()
        number = descriptor.number
        if position // PAGESIZE == (position + size - 1) // PAGESIZE:
            return read_cached(number, position, size)
        return self.read_at(position, size) if not size or _is_cached(number, position, size) else None

    def cached_range(self, position: int, size: int) -> FileRange | None:
        descriptor = self._opened()
        return FileRange(descriptor, position, size) if _is_cached(descriptor.number, position, size) else None

    def write_at(self, position: int, pieces: Sequence[Buffer]) -> None:
        # One or two pieces are one batch, by far the most frequent write. After a short write all of it is written
        # again.
        self.was_used = True
        descriptor = self._descriptor or self._opened()
        if len(pieces) == 1:
            piece = pieces[0]
            if os.pwrite(descriptor.number, piece, position) == len(piece):
                return
        elif len(pieces) == 2 and write_pieces(descriptor.number, pieces, position) == len(pieces[0]) + len(pieces[1]):
            return
        _write_all(descriptor, position, pieces)

    def truncate(self, size: int) -> None:
        descriptor = self._opened()
        os.ftruncate(descriptor.number, size)

    def sync(self) -> None:
        descriptor = self._opened()
        sync_data(descriptor.number)

    def close(self) -> None:
        self._is_closed = True
        self._open_files.forget(self)
        self.close_for_now()


def _is_cached(number: int, position: int, size: int) -> bool:
    return read_cached(number, position, 1) is not None and read_cached(number, position + size - 1, 1) is not None


def _write_all(descriptor: Descriptor, position: int, pieces: Sequence[Buffer]) -> None:
    for first in range(0, len(pieces), PIECES_MAX):
        chunk = pieces[first : first + PIECES_MAX]
        size = sum(map(len, chunk))
        written = write_pieces(descriptor.number, chunk, position)
        if written != size:
            data = memoryview(b"".join(chunk))
            while written < size:
                written += os.pwrite(descriptor.number, data[written:], position + written)
        position += size


class RealDisk(Disk):
    def __init__(self, open_files_max: int | None = None) -> None:
        self._open_files = OpenFiles(open_files_max)

    def open(self, path: str, *, create: bool = False, readonly: bool = False) -> File:
        flags = os.O_RDONLY if readonly else os.O_RDWR
        if create:
            flags |= os.O_CREAT
        return RealFile(path, flags, self._open_files)

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
        sync_directory(path)

    def read_file(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def free_bytes(self, path: str) -> int:
        stats = os.statvfs(path)
        return stats.f_bavail * stats.f_frsize

    def total_bytes(self, path: str) -> int:
        stats = os.statvfs(path)
        return stats.f_blocks * stats.f_frsize
