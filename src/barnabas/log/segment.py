"""One segment: a run of batches in a `.log` file, with its two sparse indexes.

The newest segment of a log is active: it is appended to, its indexes are complete in memory, and it remembers where
each of its newest batches lies, so that a reader at the tail finds its place without touching the disk. The others
are sealed: nothing but the name and size is in memory until someone reads them.

What may be served without a check: bytes that this process wrote or checked. Bytes found at opening are checked
against their CRC once, when they are first read (see `log_slice`).
"""

import logging
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from barnabas.env import Disk, File
from barnabas.log.batch_scan import DamagedBatch, scan_headers
from barnabas.log.file_names import DELETED, LOG, OFFSET_INDEX, SEGMENT_KINDS, TIME_INDEX, file_name
from barnabas.log.index_cache import IndexCache
from barnabas.log.index_file import CorruptIndex
from barnabas.log.offset_index import OffsetIndex
from barnabas.log.time_index import TimeIndex
from barnabas.records.batch import BatchHeader, Buffer

logger = logging.getLogger(__name__)

RELATIVE_OFFSET_MAX: Final = 2**31 - 1
TAIL_BATCHES_MAX: Final = 1024
"""Newest batches whose place is remembered: more than consumers that keep up are behind; 16 KiB per partition."""

NO_TAIL: Final = 2**63


class Placed(NamedTuple):
    """A batch's place in the log, known when it is appended."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    size: int


class Segment:
    __slots__ = (
        "_bytes_since_index",
        "_cache",
        "_disk",
        "_file",
        "_index_interval_bytes",
        "_indexes",
        "_tail_last_offsets",
        "_tail_positions",
        "_tail_start",
        "base_offset",
        "created_ms",
        "directory",
        "first_timestamp",
        "max_timestamp",
        "max_timestamp_offset",
        "sealed",
        "size",
        "suffix",
        "synced",
        "trusted_from",
        "verified_to",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        *,
        size: int,
        index_interval_bytes: int,
        created_ms: int,
        cache: IndexCache,
        suffix: str = "",
    ) -> None:
        self._disk = disk
        self.directory = directory
        self.base_offset = base_offset
        self.suffix = suffix
        self.size = size
        self.created_ms = created_ms
        self.sealed = True
        self.synced = True
        """Sealed, and all its files are on the device."""
        self.first_timestamp: int | None = None
        """The largest timestamp of the first append: what rolling by time counts from. None: not read yet."""
        self.max_timestamp: int | None = None
        """None: not read yet. -1: no batch has a timestamp."""
        self.max_timestamp_offset = base_offset
        self.trusted_from = size
        """Bytes from here on were written or recovered by this process."""
        self.verified_to = 0
        """Bytes below were read and checked by this process."""
        self._file: File | None = None
        self._indexes: tuple[OffsetIndex, TimeIndex] | None = None
        self._cache = cache
        self._index_interval_bytes = index_interval_bytes
        self._bytes_since_index = 0
        # The newest batches: the last offset and the position of each; they cover the offsets from _tail_start on.
        self._tail_start = NO_TAIL
        self._tail_last_offsets: list[int] = []
        self._tail_positions: list[int] = []

    @classmethod
    def create(
        cls,
        disk: Disk,
        directory: str,
        base_offset: int,
        *,
        index_interval_bytes: int,
        now_ms: int,
        cache: IndexCache,
        suffix: str = "",
    ) -> "Segment":
        """A new, empty, active segment. Files of that name, if any, are emptied."""
        segment = cls(
            disk,
            directory,
            base_offset,
            size=0,
            index_interval_bytes=index_interval_bytes,
            created_ms=now_ms,
            cache=cache,
            suffix=suffix,
        )
        segment._indexes = OffsetIndex(), TimeIndex()
        segment._file = disk.open(segment.path(LOG), create=True)
        if segment._file.size():
            segment._file.truncate(0)
        segment.persist_indexes()
        segment.activate(base_offset)
        return segment

    def __repr__(self) -> str:
        return f"Segment({self.path(LOG)})"

    def path(self, kind: str) -> str:
        return f"{self.directory}/{file_name(self.base_offset, kind, self.suffix)}"

    @property
    def file(self) -> File:
        if self._file is None:
            self._file = self._disk.open(self.path(LOG))
        return self._file

    # Writing

    def activate(self, next_offset: int) -> None:
        """Make this the segment that is appended to, from `next_offset` on."""
        offset_index, _ = self.indexes()
        self._cache.forget(self)
        self.largest_timestamp()
        self.rolling_timestamp()
        self.sealed = False
        self.synced = False
        self._bytes_since_index = self.size - offset_index.last()[1]
        self._tail_start = next_offset
        self._tail_last_offsets.clear()
        self._tail_positions.clear()

    def append(self, pieces: Sequence[Buffer], placed: Sequence[Placed]) -> None:
        """Write batches at the end, in one call to the disk. OSError: nothing has changed but the file's tail."""
        self.file.write_at(self.size, pieces)
        self.note(placed)

    def note(self, placed: Sequence[Placed]) -> None:
        """Account for batches that are in the file from `size` on."""
        assert self._indexes is not None
        assert self.max_timestamp is not None
        offset_index, time_index = self._indexes
        position = self.size
        if position == 0:
            self.first_timestamp = max([batch.max_timestamp for batch in placed])
        for _, last_offset, max_timestamp, size in placed:
            if max_timestamp > self.max_timestamp:
                self.max_timestamp = max_timestamp
                self.max_timestamp_offset = last_offset
            if self._bytes_since_index > self._index_interval_bytes:
                offset_index.append(last_offset - self.base_offset, position)
                time_index.append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
                self._bytes_since_index = 0
            self._bytes_since_index += size
            self._tail_last_offsets.append(last_offset)
            self._tail_positions.append(position)
            position += size
        self.size = position
        if len(self._tail_positions) > TAIL_BATCHES_MAX:
            cut = TAIL_BATCHES_MAX // 2
            self._tail_start = self._tail_last_offsets[cut - 1] + 1
            del self._tail_last_offsets[:cut], self._tail_positions[:cut]

    def cut_torn_tail(self) -> None:
        """After a write that failed half-way: the file ends again where the last good write ended."""
        self.file.truncate(self.size)

    def cut_at(self, position: int) -> None:
        """End the segment at a batch boundary; offsets before it are not affected."""
        self.file.truncate(position)
        self.size = self.trusted_from = position
        self.verified_to = min(self.verified_to, position)
        self.rebuild_indexes()

    def has_room_for(self, size: int, last_offset: int, *, segment_bytes: int, segment_index_bytes: int) -> bool:
        assert self._indexes is not None
        offset_index, time_index = self._indexes
        return (
            self.size + size <= segment_bytes
            and last_offset - self.base_offset <= RELATIVE_OFFSET_MAX
            and offset_index.size_bytes + 8 <= segment_index_bytes
            and time_index.size_bytes + 24 <= segment_index_bytes  # one entry is kept for the roll, as in Kafka
        )

    def waited_for_roll_ms(self, now_ms: int, timestamp: int) -> int:
        """How long the segment is open, by the time of its records if they have one."""
        first = self.rolling_timestamp()
        return timestamp - first if first >= 0 else now_ms - self.created_ms

    def seal(self) -> None:
        """Nothing will be appended any more; its indexes go to their files."""
        self.finish_time_index()
        self.persist_indexes()
        self.sealed = True
        self._tail_start = NO_TAIL
        self._tail_last_offsets.clear()
        self._tail_positions.clear()
        offset_index, time_index = self.indexes()
        self._cache.add(self, offset_index.size_bytes + time_index.size_bytes)

    def finish_time_index(self) -> None:
        """The time index ends with the largest timestamp."""
        _, time_index = self.indexes()
        time_index.append(self.largest_timestamp(), self.max_timestamp_offset - self.base_offset)

    def persist_indexes(self) -> None:
        offset_index, time_index = self.indexes()
        offset_index.persist(self._disk, self.path(OFFSET_INDEX))
        time_index.persist(self._disk, self.path(TIME_INDEX))

    def truncate_to(self, offset: int) -> int:
        """Drop every batch that holds `offset` or a later one; returns where the log ends then.

        That is `offset`, or the first of the dropped batch that holds it. The segment must be activated afterwards.
        """
        found = self.seek(offset)
        offset_index, time_index = self.indexes()
        offset_index.truncate_to(offset - self.base_offset)
        time_index.truncate_to(offset - self.base_offset)
        end_offset = offset
        if found is not None:
            _, header = next(self.headers(found[0]))
            end_offset = min(offset, header.base_offset)
            self.file.truncate(found[0])
            self.size = found[0]
        self.trusted_from = min(self.trusted_from, self.size)
        self.verified_to = min(self.verified_to, self.size)
        self._tail_start = NO_TAIL
        self.first_timestamp = None
        self.max_timestamp, relative = time_index.last()
        self.max_timestamp_offset = self.base_offset + relative
        for _, header in self.headers(offset_index.lookup(relative)[1]):
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.max_timestamp_offset = header.max_timestamp, header.last_offset
        return end_offset

    def start_over(self) -> None:
        """Forget what is known of its content; a recovery is about to `note` every batch it finds sound."""
        self._indexes = OffsetIndex(), TimeIndex()
        self.size = self.trusted_from = self.verified_to = 0
        self.first_timestamp = None
        self.max_timestamp, self.max_timestamp_offset = -1, self.base_offset
        self.activate(self.base_offset)

    # Reading

    def seek(self, offset: int) -> tuple[int, int] | None:
        """Position and size of the first batch that ends at or after `offset`; None: all end before."""
        if offset >= self._tail_start:
            slot = bisect_left(self._tail_last_offsets, offset)
            if slot == len(self._tail_positions):
                return None
            position = self._tail_positions[slot]
            end = self._tail_positions[slot + 1] if slot + 1 < len(self._tail_positions) else self.size
            return position, end - position
        relative, position = self.indexes()[0].lookup(offset - self.base_offset)
        try:
            return self._seek_from(offset, relative, position)
        except DamagedBatch as damage:
            if position == 0:
                raise
            logger.warning("%s; rebuilding the indexes, one of them may be wrong", damage)
            self.rebuild_indexes()
            return self._seek_from(offset, *self.indexes()[0].lookup(offset - self.base_offset))

    def _seek_from(self, offset: int, relative: int, position: int) -> tuple[int, int] | None:
        for at, header in scan_headers(self.file, position, self.size, next_offset=self.base_offset):
            if at == position and relative >= 0 and header.base_offset > self.base_offset + relative:
                raise DamagedBatch(self.path(OFFSET_INDEX), position, "its entry points past the offset it names")
            if header.last_offset >= offset:
                return at, header.size
        return None

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        return scan_headers(self.file, position, self.size, next_offset=self.base_offset)

    def next_offset(self) -> int:
        """The offset after the last batch, found from the last index entry on."""
        next_offset = self.base_offset
        _, position = self.indexes()[0].last()
        for _, header in self.headers(position):
            next_offset = header.next_offset
        return next_offset

    def largest_timestamp(self) -> int:
        """The largest timestamp of its batches; -1: none has one."""
        if self.max_timestamp is None:
            self.max_timestamp, relative = self.indexes()[1].last()
            self.max_timestamp_offset = self.base_offset + relative
        return self.max_timestamp

    def rolling_timestamp(self) -> int:
        if self.first_timestamp is None:
            if self.size == 0:
                return -1
            _, header = next(self.headers())
            self.first_timestamp = header.max_timestamp
        return self.first_timestamp

    def retention_timestamp(self) -> int:
        """What retention by time looks at: records without timestamps are as old as the file's last change."""
        largest = self.largest_timestamp()
        return largest if largest >= 0 else self._disk.mtime_ms(self.path(LOG))

    # Indexes

    def indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        if self._indexes is None:
            try:
                self._indexes = self._load_indexes()
            except (CorruptIndex, FileNotFoundError) as error:
                logger.warning("an index of %s is missing or damaged (%s): rebuilding both", self.path(LOG), error)
                self.rebuild_indexes()
                assert self._indexes is not None
            self._cache.add(self, sum(index.size_bytes for index in self._indexes))
        elif self.sealed:
            self._cache.touch(self)
        return self._indexes

    def _load_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        offset_index = OffsetIndex.load(self._disk.read_file(self.path(OFFSET_INDEX)))
        time_index = TimeIndex.load(self._disk.read_file(self.path(TIME_INDEX)))
        if offset_index and offset_index.last()[1] >= self.size:
            raise CorruptIndex("its last entry points past the end of the segment")
        if self.size and not time_index and self._may_have_timestamps():
            raise CorruptIndex("the time index is empty")
        return offset_index, time_index

    def _may_have_timestamps(self) -> bool:
        _, header = next(self.headers())
        return header.max_timestamp >= 0

    def join_cache(self, cache: IndexCache) -> None:
        """Let another cache count its indexes: it was opened apart and joins the others now."""
        self._cache = cache
        if self.sealed and self._indexes is not None:
            cache.add(self, sum(index.size_bytes for index in self._indexes))

    def drop_indexes(self) -> None:
        self._indexes = None

    def rebuild_indexes(self) -> None:
        """From the headers. A damaged batch ends the walk: what lies behind it cannot be found, nor served."""
        offset_index, time_index = OffsetIndex(), TimeIndex()
        self.max_timestamp, self.max_timestamp_offset = -1, self.base_offset
        last_entry = 0
        try:
            for position, header in self.headers():
                if header.max_timestamp > self.max_timestamp:
                    self.max_timestamp, self.max_timestamp_offset = header.max_timestamp, header.last_offset
                if position - last_entry > self._index_interval_bytes:
                    offset_index.append(header.last_offset - self.base_offset, position)
                    time_index.append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
                    last_entry = position
        except DamagedBatch as damage:
            logger.warning("%s; what follows in this segment cannot be read", damage)
        time_index.append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
        self._indexes = offset_index, time_index
        self.persist_indexes()

    # Files

    def existing_paths(self) -> list[str]:
        return [self.path(kind) for kind in SEGMENT_KINDS if self._disk.exists(self.path(kind))]

    def change_suffix(self, suffix: str) -> None:
        """Rename its files. The open file stays valid, so do slices of it."""
        old_paths = self.existing_paths()
        old_suffix, self.suffix = self.suffix, suffix
        for path in old_paths:
            self._disk.rename(path, path.removesuffix(old_suffix) + suffix)

    def mark_deleted(self) -> list[File]:
        """Rename its files; who removes them later closes the file that is returned, if it was open."""
        self.change_suffix(self.suffix + DELETED)
        return self.detach()

    def detach(self) -> list[File]:
        """Give up the file, if it is open, for the caller to close."""
        self._cache.forget(self)
        files = [self._file] if self._file is not None else []
        self._file = None
        return files

    def close(self) -> None:
        for file in self.detach():
            file.close()
