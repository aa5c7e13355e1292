"""A bound on open files: a process may have some tens of thousands, and a broker with many partitions has more of them.

A file that is not open is opened again when it is next used. Which one gives way: the files stand in a queue; one that
was used since it came to the front goes to the back once more, the first that was not is closed.

Workers read files while the loop opens others. So a descriptor is closed when nobody holds it any more: whoever is
about to read has taken it in hand before, and its number cannot come to mean another file meanwhile.
"""

import os
import threading
from typing import Final, Protocol

from barnabas.portable.open_file_limit import open_file_limit

OPEN_FILES_MAX: Final = 65_536
"""More would gain nothing: to open a file again takes some microseconds."""


class Descriptor:
    """Closed when the last reference to it goes."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


class Closable(Protocol):
    was_used: bool

    def let_go(self) -> None:
        """Close, until it is used again."""


class OpenFiles:
    def __init__(self, files_max: int | None = None) -> None:
        self.files_max = files_max or default_files_max()
        self._queue: dict[Closable, None] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, file: Closable) -> None:
        """It was just opened."""
        with self._lock:
            self._queue[file] = None
            while len(self._queue) > self.files_max:
                front = next(iter(self._queue))
                del self._queue[front]
                if front.was_used:
                    front.was_used = False
                    self._queue[front] = None
                else:
                    front.let_go()

    def forget(self, file: Closable) -> None:
        with self._lock:
            self._queue.pop(file, None)


def default_files_max() -> int:
    """Three quarters of what the process may open: the rest is for connections."""
    limit = open_file_limit()
    return OPEN_FILES_MAX if limit is None else max(16, min(limit * 3 // 4, OPEN_FILES_MAX))
