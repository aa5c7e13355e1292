"""Replaces a file in one step, so that nobody sees a part of it."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal

from barnabas.portable.files import full_sync, sync_directory

TEMPORARY: Final = ".tmp"
"""The end of a file's name while it is written."""

Step = Literal["synced", "renamed", "in-place"]


def replace_file(path: str | os.PathLike[str], content: bytes, *, sync: bool) -> None:
    """Replace the file in one step: a reader sees the old content or the new, whole.

    For files that several processes may write: each has a temporary file of its own. Files of the broker, which have
    one writer, are replaced with `env.Disk`, so that tests can crash in between. Without `sync`, a power cut may take
    the content of both.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.urandom(8).hex()}{TEMPORARY}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
        if sync:
            move_into_place(temporary, path)
        else:
            os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):  # it was renamed already
            os.unlink(temporary)
        raise


def move_into_place(
    written: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    on_step: Callable[[Step], None] = lambda step: None,
) -> None:
    """Give a file its name once its bytes are on the device, and return once the name is, too."""
    descriptor = os.open(written, os.O_RDONLY)
    try:
        full_sync(descriptor)
    finally:
        os.close(descriptor)
    on_step("synced")
    os.replace(written, path)
    on_step("renamed")
    sync_directory(os.path.dirname(path) or os.curdir)
    on_step("in-place")
