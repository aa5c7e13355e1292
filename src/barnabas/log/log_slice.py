"""A run of batches in one segment, ready to be read: from the page cache at once, or from the device on a worker.

A damaged batch is never served. What this process wrote or has checked before is read without a check. Older bytes are
checked against the CRC of each batch when they are first read, on the worker, so that the loop never pays for it: sound
batches before a damaged one are served, and a read that begins at the damaged one raises CorruptMessage.
"""

import errno

from barnabas.env import File
from barnabas.log.directory_health import DirectoryHealth
from barnabas.log.segment import Segment
from barnabas.records.batch import crc_is_valid, split_batches
from barnabas.wire.errors import CorruptMessage, KafkaStorageError


class LogSlice:
    __slots__ = ("_file", "_health", "_segment", "offset", "position", "size")

    def __init__(self, segment: Segment, health: DirectoryHealth, *, offset: int, position: int, size: int) -> None:
        self._segment = segment
        self._file: File = segment.file
        self._health = health
        self.offset = offset
        """The offset that was asked for; the first batch holds it, or the first offset after it that exists."""
        self.position = position
        self.size = size
        """In bytes. The last batch may be cut off, the first never is."""

    @property
    def bounding_offset(self) -> int | None:
        """No record of it lies at or past this offset; None: not known, any that its reader may have."""
        return self._segment.bounding_offset(self.position + self.size)

    def try_read(self) -> bytes | None:
        """The bytes, if they can be had without waiting for the device and need no check; else None: call `read`."""
        segment = self._segment
        end = self.position + self.size
        if self.position < segment.trusted_from and end > segment.verified_to:
            return None
        try:
            return self._file.read_cached(self.position, self.size)
        except OSError as error:
            raise self._failure(error) from error

    def read(self) -> bytes:
        """Waits for the device; safe to call on a worker."""
        segment = self._segment
        end = self.position + self.size
        try:
            data = self._file.read_at(self.position, self.size)
        except OSError as error:
            raise self._failure(error) from error
        if self.position >= segment.trusted_from or end <= segment.verified_to:
            return data
        sound = self._sound_bytes(data)
        # Two workers may come here at once: the smaller of their marks then costs a second check, no more.
        if self.position <= segment.verified_to < self.position + sound:
            segment.verified_to = self.position + sound
        return data[:sound]

    def _failure(self, error: OSError) -> KafkaStorageError:
        if error.errno in (errno.EBADF, errno.ENOENT):
            return KafkaStorageError(f"{self._file.path} was deleted while it was being read")
        return self._health.failure(error, f"reading {self._file.path}")

    def _sound_bytes(self, data: bytes) -> int:
        """Length of the whole batches at the front whose CRC holds."""
        sound = 0
        try:
            for batch in split_batches(data):
                if not crc_is_valid(batch):
                    break
                sound += len(batch.data)
        except CorruptMessage:
            pass
        if sound == 0:
            raise CorruptMessage(
                f"the batch for offset {self.offset} in {self._file.path} at byte {self.position} is damaged. "
                "It is not served; read on from a later offset, or restore the file from a replica or a backup"
            )
        return sound
