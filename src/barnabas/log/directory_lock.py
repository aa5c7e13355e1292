"""Locks the `.lock` file of a log directory, as Kafka does, so that only one process uses the directory."""

import fcntl
import os
from typing import Final

FILE_NAME: Final = ".lock"


class DirectoryLock:
    def __init__(self, path: str) -> None:
        """Raises BlockingIOError if another process holds the lock."""
        self._fd = os.open(f"{path}/{FILE_NAME}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._fd)
            raise BlockingIOError(
                f"log directory {path} is in use by another process. Stop that broker, or choose another log.dirs"
            ) from error

    def release(self) -> None:
        os.close(self._fd)
