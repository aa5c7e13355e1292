"""A segment's files: the `.log`, its two sparse indexes, its transaction index, and their names.

The indexes of a sealed segment are loaded one by one when they are needed, and dropped when the cache is full. A
missing or damaged index is rebuilt from the batches. As an index can also be wrong without looking wrong, each entry is
compared with the batch that it points to when it is used (`Segment.seek`, `timestamp_lookup`).

Damage that is found in the `.log` is remembered, and skipped from then on. The damaged bytes stay in the file.
"""

import logging
from collections.abc import Iterable, Iterator

from barnabas.env import Disk, File
from barnabas.log.batch_scan import (
    RELATIVE_OFFSET_MAX,
    Damage,
    DamagedBatch,
    PlacedBatch,
    scan_batches,
    scan_headers,
)
from barnabas.log.file_names import (
    DELETED,
    LOG,
    OFFSET_INDEX,
    SEGMENT_KINDS,
    TIME_INDEX,
    TXN_CHECKSUM,
    TXN_INDEX,
    file_name,
)
from barnabas.log.index_cache import IndexCache
from barnabas.log.index_file import CorruptIndex
from barnabas.log.offset_index import OffsetIndex
from barnabas.log.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from barnabas.log.time_index import TimeIndex
from barnabas.log.transaction_index import AbortedTransaction, TransactionIndex
from barnabas.records.batch import BatchHeader

logger = logging.getLogger(__name__)


class IndexedSegment:
    __slots__ = (
        "_cache",
        "_disk",
        "_file",
        "_index_interval_bytes",
        "_offset_index",
        "_time_index",
        "_transaction_index",
        "base_offset",
        "damages",
        "directory",
        "has_aborted",
        "is_time_checked",
        "max_timestamp",
        "max_timestamp_offset",
        "offset_limit",
        "sealed",
        "size",
        "suffix",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        *,
        size: int,
        index_interval_bytes: int,
        cache: IndexCache,
        suffix: str,
    ) -> None:
        self._disk = disk
        self.directory = directory
        self.base_offset = base_offset
        self.suffix = suffix
        self.size = size
        self.offset_limit = base_offset + RELATIVE_OFFSET_MAX + 1
        """All its offsets are below: the base offset of the next segment, if there is one."""
        self.damages: tuple[Damage, ...] = ()
        """The known damage in the `.log`, in order of position."""
        self.sealed = True
        self.max_timestamp: int | None = None
        """None: not read yet. -1: no batch has a timestamp."""
        self.max_timestamp_offset = base_offset
        self.is_time_checked = False
        """Whether `max_timestamp` was compared with the batch, not only read from the index."""
        self._file: File | None = None
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._transaction_index: TransactionIndex | None = None
        self.has_aborted = False
        """Whether the segment has ABORT markers: then it has a transaction index, in memory or as a file."""
        self._cache = cache
        self._index_interval_bytes = index_interval_bytes

    def __repr__(self) -> str:
        return f"Segment({self.path(LOG)})"

    def path(self, kind: str) -> str:
        return f"{self.directory}/{file_name(self.base_offset, kind, self.suffix)}"

    @property
    def file(self) -> File:
        if self._file is None:
            self._file = self._disk.open(self.path(LOG))
        return self._file

    # Batches

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of the batches from `position` on, without checking their CRC.

        Known damage is skipped. Raises DamagedBatch if there is more.
        """
        next_offset = self.base_offset
        for damage in (*(each for each in self.damages if each.end > position), None):
            end = self.size if damage is None else damage.position
            for at, header in scan_headers(self.file, position, end, next_offset=next_offset):
                next_offset = header.next_offset
                yield at, header
            if damage is not None:
                position = damage.end

    def scan(self, position: int = 0, *, next_offset: int | None = None) -> Iterator[PlacedBatch | Damage]:
        """Every batch from `position` on, checked, and the damage between them, which is remembered."""
        for found in scan_batches(
            self.file,
            position,
            self.size,
            next_offset=self.base_offset if next_offset is None else next_offset,
            offset_limit=self.offset_limit,
        ):
            if isinstance(found, Damage):
                self.remember_damage(found)
            yield found

    def batches(self, position: int = 0, *, next_offset: int | None = None) -> Iterator[PlacedBatch]:
        """Like `scan`, but only the valid batches."""
        return (found for found in self.scan(position, next_offset=next_offset) if isinstance(found, PlacedBatch))

    def first_header(self) -> BatchHeader | None:
        """The header of the first valid batch; None: there is none."""
        try:
            return next((header for _, header in self.headers()), None)
        except DamagedBatch:
            return next((found.batch.header for found in self.batches()), None)

    def remember_damage(self, damage: Damage) -> None:
        """Workers may call it at the same time: at worst, damage is forgotten and found again."""
        if damage not in self.damages:
            apart = [known for known in self.damages if known.end <= damage.position or known.position >= damage.end]
            self.damages = tuple(sorted([*apart, damage], key=lambda each: each.position))

    def largest_timestamp(self) -> int:
        """The largest timestamp of its batches; -1: no batch has a timestamp."""
        if self.max_timestamp is None:
            self.max_timestamp, relative = self._last_time_entry()
            self.max_timestamp_offset = self.base_offset + relative
        return self.max_timestamp

    def _last_time_entry(self) -> tuple[int, int]:
        """The last entry of the time index; of a sealed segment, only the ends of the file are read for it."""
        if self._time_index is None:
            path = self.path(TIME_INDEX)
            size = self._disk.size(path) if self._disk.exists(path) else 0
            if size > TIME_ENTRY_BYTES and size % TIME_ENTRY_BYTES == 0:
                file = self._disk.open(path, readonly=True)
                try:
                    ends = (file.read_at(at, TIME_ENTRY_BYTES) for at in (0, size - TIME_ENTRY_BYTES))
                    return TimeIndex.load(b"".join(ends)).last()
                except CorruptIndex:
                    pass
                finally:
                    file.close()
        return self.time_index().last()

    # Indexes

    def indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        return self.offset_index(), self.time_index()

    def offset_index(self) -> OffsetIndex:
        if self._offset_index is None:
            try:
                self._offset_index = self._load_offset_index()
            except (CorruptIndex, FileNotFoundError) as error:
                self._rebuild_because(error)
            self._account()
        elif self.sealed:
            self._cache.touch(self)
        assert self._offset_index is not None
        return self._offset_index

    def time_index(self) -> TimeIndex:
        if self._time_index is None:
            try:
                self._time_index = self._load_time_index()
            except (CorruptIndex, FileNotFoundError) as error:
                self._rebuild_because(error)
            self._account()
        assert self._time_index is not None
        return self._time_index

    def transaction_index(self) -> TransactionIndex:
        """Raises CorruptIndex: `producer_rebuild` can rebuild it, as that needs the producer state."""
        if self._transaction_index is None:
            content = self._disk.read_file(self.path(TXN_INDEX)) if self.has_aborted else b""
            path = self.path(TXN_CHECKSUM)
            checksum = self._disk.read_file(path) if self.has_aborted and self._disk.exists(path) else None
            self._transaction_index = TransactionIndex.load(content, self.base_offset, checksum=checksum)
            if self.sealed:
                self._account()
        return self._transaction_index

    def replace_transaction_index(self, entries: Iterable[AbortedTransaction]) -> None:
        """Replace a damaged index."""
        self._transaction_index = TransactionIndex(replaces_file=True)
        self.has_aborted = False
        for entry in entries:
            self.add_aborted(entry)
        self._transaction_index.persist(self._disk, self.path(TXN_INDEX), self.path(TXN_CHECKSUM))

    def add_aborted(self, entry: AbortedTransaction) -> None:
        self.transaction_index().append(entry)
        self.has_aborted = True

    def _rebuild_because(self, error: Exception) -> None:
        logger.warning("an index of %s is missing or damaged (%s): rebuilding its indexes", self.path(LOG), error)
        self.rebuild_indexes()

    def _account(self) -> None:
        indexes = (self._offset_index, self._time_index, self._transaction_index)
        self._cache.add(self, sum(index.size_bytes for index in indexes if index is not None))

    def _load_offset_index(self) -> OffsetIndex:
        index = OffsetIndex.load(self._disk.read_file(self.path(OFFSET_INDEX)))
        if index and index.last()[1] >= self.size:
            raise CorruptIndex("its last entry points past the end of the segment")
        return index

    def _load_time_index(self) -> TimeIndex:
        index = TimeIndex.load(self._disk.read_file(self.path(TIME_INDEX)))
        if not index and (first := self.first_header()) is not None and first.max_timestamp >= 0:
            raise CorruptIndex("it is empty")
        return index

    def join_cache(self, cache: IndexCache) -> None:
        """Move its indexes to the shared cache, after it was opened with a separate one."""
        self._cache = cache
        if self.sealed:
            self._account()

    def drop_indexes(self) -> None:
        self._offset_index = self._time_index = self._transaction_index = None

    def rebuild_indexes(self) -> None:
        """Rebuild both from the batches, all of which are read and checked: this finds all damage."""
        offset_index, time_index = OffsetIndex(), TimeIndex()
        self.max_timestamp, self.max_timestamp_offset = -1, self.base_offset
        self.damages = ()
        last_entry = 0
        for position, batch in self.batches():
            header = batch.header
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.max_timestamp_offset = header.max_timestamp, header.last_offset
            if position - last_entry > self._index_interval_bytes:
                offset_index.append(header.last_offset - self.base_offset, position)
                time_index.append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
                last_entry = position
        time_index.append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
        self.is_time_checked = True
        self._offset_index, self._time_index = offset_index, time_index
        try:
            self.persist_indexes()
        except OSError as error:
            # A full disk must not prevent reads: the indexes are in memory, and rebuilt again if they are dropped.
            logger.warning("the indexes of %s could not be written: %s", self.path(LOG), error)

    def finish_time_index(self) -> None:
        """Append the largest timestamp, which is the last entry of every time index."""
        _, time_index = self.indexes()
        time_index.append(self.largest_timestamp(), self.max_timestamp_offset - self.base_offset)

    def persist_indexes(self) -> None:
        offset_index, time_index = self.indexes()
        offset_index.persist(self._disk, self.path(OFFSET_INDEX))
        time_index.persist(self._disk, self.path(TIME_INDEX))
        if self._transaction_index is not None:
            self._transaction_index.persist(self._disk, self.path(TXN_INDEX), self.path(TXN_CHECKSUM))

    # Files

    def existing_paths(self) -> list[str]:
        return [self.path(kind) for kind in SEGMENT_KINDS if self._disk.exists(self.path(kind))]

    def change_suffix(self, suffix: str) -> None:
        """Rename its files. The open file and slices of it stay usable."""
        old_paths = self.existing_paths()
        old_suffix, self.suffix = self.suffix, suffix
        for path in old_paths:
            self._disk.rename(path, path.removesuffix(old_suffix) + suffix)
        if self._file is not None:
            self._file.moved_to(self.path(LOG))

    def mark_deleted(self) -> list[File]:
        """Rename its files. Returns the open file, if any, to be closed when the files are removed."""
        self.change_suffix(self.suffix + DELETED)
        return self.detach()

    def detach(self) -> list[File]:
        """Return the file, if it is open, for the caller to close."""
        self._cache.forget(self)
        files = [self._file] if self._file is not None else []
        self._file = None
        return files

    def close(self) -> None:
        for file in self.detach():
            file.close()
