"""Passes a secret to a library that reads only files, without leaving it on disk."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_make_memory_file: Final[Callable[[str], int] | None] = getattr(os, "memfd_create", None)


@contextmanager
def secret_file(content: bytes) -> Iterator[str]:
    """The path of a file with this content: in memory, or else a temporary file that only this user can read."""
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
    descriptor, path = tempfile.mkstemp(prefix="barnabas-")  # mode 0600
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        yield path
    finally:
        os.unlink(path)
