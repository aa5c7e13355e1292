"""A range of batches in one segment, ready to be read: from the page cache at once, or from the device on a worker.

A damaged batch is never served. What this process wrote or checked before is read without a check. Other bytes are
checked when they are first read, on the worker, so that this never blocks the event loop. Valid batches before a
damaged one are served, and a read that begins at the damaged one raises DamagedRecords.
"""

import errno
from typing import Final

from barnabas.env import File, FileRange
from barnabas.log.batch_finder import DamagedRecords, FoundBatch
from barnabas.log.batch_scan import Damage
from barnabas.log.directory_health import DirectoryHealth
from barnabas.log.segment import Segment
from barnabas.records.batch import NO_LEADER_EPOCH, crc_is_valid, split_batches
from barnabas.wire.errors import CorruptMessage, KafkaStorageError

SENT_BYTES_MIN: Final = 64 * 1024
"""Fewer bytes are read and sent in less time than the three calls into the kernel take that a file needs."""


class LogSlice:
    __slots__ = ("_expected_epoch", "_file", "_found", "_health", "_segment", "offset", "position", "size")

    def __init__(
        self,
        segment: Segment,
        health: DirectoryHealth,
        *,
        offset: int,
        found: FoundBatch,
        size: int,
        expected_epoch: int = NO_LEADER_EPOCH,
    ) -> None:
        """`expected_epoch`: the leader epoch of the first batch; needed unless this process wrote it."""
        self._segment = segment
        self._found = found
        self._expected_epoch = expected_epoch
        self._file: File = segment.file
        self._health = health
        self.offset = offset
        """The requested offset; the first batch contains it, or the first offset after it that exists."""
        self.position = found.position
        self.size = size
        """In bytes. The last batch may be cut off, the first never is."""

    @property
    def upper_bound_offset(self) -> int | None:
        """All its records are below this offset; None: only the reader's own limit is known."""
        return self._segment.upper_bound_offset(self.position + self.size)

    def try_read(self) -> bytes | None:
        """The bytes, if they are in the page cache and need no check; else None: call `read`."""
        if self._needs_check():
            return None
        try:
            return self._file.read_cached(self.position, self.size)
        except OSError as error:
            raise self._failure(error) from error

    def try_send(self) -> FileRange | bytes | None:
        """As `try_read`, for an answer: many bytes need not be read, the kernel copies them to the socket."""
        if self.size < SENT_BYTES_MIN:
            return self.try_read()
        if self._needs_check():
            return None
        try:
            return self._file.cached_range(self.position, self.size) or self._file.read_cached(self.position, self.size)
        except OSError as error:
            raise self._failure(error) from error

    def read(self) -> bytes:
        """Waits for the device; safe to call on a worker."""
        segment = self._segment
        try:
            data = self._file.read_at(self.position, self.size)
            if not self._needs_check():
                return data
            valid = self._quick_check(data)
            if valid is None:
                return self._read_checked()
        except OSError as error:
            raise self._failure(error) from error
        # Two workers may race here: if the smaller value wins, some bytes are checked twice.
        if self.position <= segment.verified_to < self.position + valid:
            segment.verified_to = self.position + valid
        return data[:valid]

    def _needs_check(self) -> bool:
        segment = self._segment
        return self.position < segment.trusted_from and self.position + self.size > segment.verified_to

    def _failure(self, error: OSError) -> KafkaStorageError:
        if error.errno in (errno.EBADF, errno.ENOENT):
            return KafkaStorageError(f"{self._file.path} was deleted while it was being read")
        return self._health.failure(error, f"reading {self._file.path}")

    def _quick_check(self, data: bytes) -> int | None:
        """The size of the complete batches, if all are valid, have the expected epoch and no gaps; else None."""
        valid = 0
        expected_offset = self._found.expected_offset
        try:
            for batch in split_batches(data):
                header = batch.header
                if (
                    (expected_offset is not None and header.base_offset != expected_offset)
                    or header.leader_epoch != self._expected_epoch
                    or not crc_is_valid(batch)
                ):
                    return None
                expected_offset = header.next_offset
                valid += len(batch.data)
        except CorruptMessage:
            return None
        return valid or None

    def _read_checked(self) -> bytes:
        """All valid batches from the requested offset up to the next damage."""
        end = self.position + self.size
        pieces: list[memoryview] = []
        for found in self._segment.finder.scan_from(self._found.entry_before):
            if isinstance(found, Damage):
                if pieces:
                    break
                if found.next_offset is None or found.next_offset > self.offset:
                    raise DamagedRecords(found)
            elif found.end > end and (pieces or found.position > self.position):
                break  # the rest is for the next fetch; all of it, if damage hid the right position
            elif found.batch.header.last_offset >= self.offset:
                pieces.append(found.batch.data)
        return b"".join(pieces)
