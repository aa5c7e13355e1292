"""Whether a log directory is online, shared by everything that writes to it.

On a full disk, the write is undone, the client gets an error, and the next write may succeed. Any other I/O error takes
the directory offline: memory and disk may differ from then on, so nothing in it is read or written until the broker
restarts.
"""

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.wire.errors import KafkaStorageError

logger = logging.getLogger(__name__)

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class DirectoryHealth:
    __slots__ = ("error", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.error: OSError | None = None
        """The error that took the directory offline."""

    @property
    def is_offline(self) -> bool:
        return self.error is not None

    def check(self) -> None:
        if self.error is not None:
            raise KafkaStorageError(
                f"log directory {self.path} is offline: {self.error}. "
                "Repair or replace the disk, then restart the broker"
            )

    def take_offline(self, error: OSError, doing: str) -> None:
        if self.error is None:
            self.error = error
            logger.error(
                "log directory %s is offline until the broker restarts: %s (while %s)", self.path, error, doing
            )

    def failure(self, error: OSError, doing: str) -> KafkaStorageError:
        """The error to raise for `error`. Unless the disk is just full, this takes the directory offline."""
        if error.errno in DISK_FULL:
            return KafkaStorageError(
                f"the disk of log directory {self.path} is full (while {doing}). Nothing was written. "
                "Free some space, shorten retention, or add a log directory, then retry"
            )
        self.take_offline(error, doing)
        return KafkaStorageError(f"log directory {self.path} failed: {error} (while {doing})")

    @contextmanager
    def storage_errors(self, doing: str) -> Iterator[None]:
        """Raise an OSError in the block as the KafkaStorageError of `failure`."""
        try:
            yield
        except OSError as error:
            raise self.failure(error, doing) from error
