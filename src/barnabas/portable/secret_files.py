"""A file for a library that reads only files, with content that should not be left on a disk."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_make_memory_file: Final[Callable[[str], int] | None] = getattr(os, "memfd_create", None)


@contextmanager
def secret_file(content: bytes) -> Iterator[str]:
    """A path to open meanwhile. The file is in memory; where there is no such thing, on disk, for this user alone."""
    if _make_memory_file is None:
        with file_on_disk(content) as path:
            yield path
        return
    descriptor = _make_memory_file("secret")
    try:
        os.write(descriptor, content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


@contextmanager
def file_on_disk(content: bytes) -> Iterator[str]:
    descriptor, path = tempfile.mkstemp(prefix="barnabas-")  # readable and writable by this user alone
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        yield path
    finally:
        os.unlink(path)
