"""Whether a log directory still works, shared by everything that writes below it.

A full disk is no damage: the write is undone, the client is told, and the next write may succeed. Any other error of
the device takes the directory offline: what is in memory and what is on disk may differ from then on, so nothing
below it is read or written again until the broker restarts.
"""

import errno
import logging

from barnabas.wire.errors import KafkaStorageError

logger = logging.getLogger(__name__)

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class DirectoryHealth:
    __slots__ = ("error", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.error: OSError | None = None
        """What took the directory offline."""

    @property
    def is_offline(self) -> bool:
        return self.error is not None

    def check(self) -> None:
        if self.error is not None:
            raise KafkaStorageError(
                f"log directory {self.path} is offline since {self.error}. Repair or replace the disk, then restart"
            )

    def take_offline(self, error: OSError, doing: str) -> None:
        if self.error is None:
            self.error = error
            logger.error("log directory %s goes offline: %s (%s)", self.path, error, doing)

    def failure(self, error: OSError, doing: str) -> KafkaStorageError:
        """The error to raise for `error`; unless the disk is just full, the directory is offline from now on."""
        if error.errno in DISK_FULL:
            return KafkaStorageError(
                f"the disk of log directory {self.path} is full ({doing}). Nothing was written; "
                "free some space, shorten retention, or add a log directory, and retry"
            )
        self.take_offline(error, doing)
        return KafkaStorageError(f"log directory {self.path} failed: {error} ({doing})")
