"""Limits the number of open files: a broker with many partitions has more files than a process may open.

A closed file is opened again when it is next used. Which file is closed is chosen by second chance: files are in a
queue; a file at the front that was used since it got there moves to the back, the first that was not is closed.

Workers read files while the loop opens others. So a descriptor is closed only when nobody holds a reference to it:
a reader keeps its reference while it reads, and the descriptor's number cannot be reused for another file meanwhile.
"""

import os
import threading
from typing import Final, Protocol

from barnabas.portable.open_file_limit import open_file_limit

OPEN_FILES_MAX: Final = 65_536
"""More would gain nothing: reopening a file takes a few microseconds."""


class Descriptor:
    """A file descriptor that is closed with the last reference to this object."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


class Closable(Protocol):
    was_used: bool

    def close_for_now(self) -> None:
        """Close it; it is opened again when it is next used."""


class OpenFiles:
    def __init__(self, files_max: int | None = None) -> None:
        self.files_max = files_max or default_files_max()
        self._queue: dict[Closable, None] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, file: Closable) -> None:
        """Call this when a file was opened."""
        with self._lock:
            self._queue[file] = None
            while len(self._queue) > self.files_max:
                front = next(iter(self._queue))
                del self._queue[front]
                if front.was_used:
                    front.was_used = False
                    self._queue[front] = None
                else:
                    front.close_for_now()

    def forget(self, file: Closable) -> None:
        with self._lock:
            self._queue.pop(file, None)


def default_files_max() -> int:
    """Three quarters of the process's limit: the rest is for connections."""
    limit = open_file_limit()
    return OPEN_FILES_MAX if limit is None else max(16, min(limit * 3 // 4, OPEN_FILES_MAX))
