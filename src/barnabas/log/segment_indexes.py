"""The two sparse indexes of a segment and its transaction index.

The indexes of a sealed segment are loaded one by one when they are needed, and dropped when the cache is full. Those of
the active segment are pinned in memory. A missing or damaged index is rebuilt from the batches. As an index can also be
wrong without looking wrong, each entry is compared with the batch that it points to when it is used (`batch_finder`,
`timestamp_lookup`).
"""

import logging
from collections.abc import Iterable
from typing import Final

from barnabas.log.file_names import LOG, OFFSET_INDEX, TIME_INDEX, TXN_CHECKSUM, TXN_INDEX
from barnabas.log.index_cache import IndexCache
from barnabas.log.index_file import CorruptIndex
from barnabas.log.offset_index import OffsetIndex
from barnabas.log.segment_batches import SegmentBatches
from barnabas.log.segment_files import SegmentFiles
from barnabas.log.time_index import TimeIndex
from barnabas.log.transaction_index import AbortedTransaction, TransactionIndex

logger = logging.getLogger(__name__)

NOT_READ: Final = -2


class SegmentIndexes:
    __slots__ = (
        "_batches",
        "_cache",
        "_files",
        "_interval_bytes",
        "_offset_index",
        "_pinned",
        "_time_index",
        "_transaction_index",
        "bytes_bound",
        "has_aborted",
        "is_time_checked",
        "max_timestamp",
        "max_timestamp_offset",
        "next_entry_after",
    )

    def __init__(self, files: SegmentFiles, batches: SegmentBatches, interval_bytes: int, cache: IndexCache) -> None:
        self._files = files
        self._batches = batches
        self._interval_bytes = interval_bytes
        self._cache = cache
        self._pinned = False
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._transaction_index: TransactionIndex | None = None
        self.has_aborted = False
        """Whether the segment has ABORT markers: then it has a transaction index, in memory or as a file."""
        self.max_timestamp = NOT_READ
        """The largest timestamp of its batches; -1: no batch has a timestamp."""
        self.max_timestamp_offset = files.base_offset
        self.is_time_checked = False
        """Whether `max_timestamp` was compared with the batch, not only read from the index."""
        self.next_entry_after = interval_bytes
        """The first batch after this position gets the next entry."""
        self.bytes_bound = 0
        """No index is larger than this with one more entry."""

    # Loading

    def both(self) -> tuple[OffsetIndex, TimeIndex]:
        return self.offset_index(), self.time_index()

    def offset_index(self) -> OffsetIndex:
        if self._offset_index is None:
            try:
                self._offset_index = self._load_offset_index()
            except (CorruptIndex, FileNotFoundError) as error:
                self.rebuild_because(error)
            self._account()
        elif not self._pinned:
            self._cache.touch(self)
        assert self._offset_index is not None
        return self._offset_index

    def time_index(self) -> TimeIndex:
        if self._time_index is None:
            try:
                self._time_index = self._load_time_index()
            except (CorruptIndex, FileNotFoundError) as error:
                self.rebuild_because(error)
            self._account()
        assert self._time_index is not None
        return self._time_index

    def transaction_index(self) -> TransactionIndex:
        """Raises CorruptIndex: `producer_rebuild` can rebuild it, as that needs the producer state."""
        if self._transaction_index is None:
            disk, path = self._files.disk, self._files.path(TXN_CHECKSUM)
            content = disk.read_file(self._files.path(TXN_INDEX)) if self.has_aborted else b""
            checksum = disk.read_file(path) if self.has_aborted and disk.exists(path) else None
            self._transaction_index = TransactionIndex.load(content, self._files.base_offset, checksum=checksum)
            if not self._pinned:
                self._account()
        return self._transaction_index

    def _load_offset_index(self) -> OffsetIndex:
        index = OffsetIndex.load(self._files.disk.read_file(self._files.path(OFFSET_INDEX)))
        if index and index.last()[1] >= self._batches.size:
            raise CorruptIndex("its last entry points past the end of the segment")
        return index

    def _load_time_index(self) -> TimeIndex:
        index = TimeIndex.load(self._files.disk.read_file(self._files.path(TIME_INDEX)))
        if not index and (first := self._batches.first_header()) is not None and first.max_timestamp >= 0:
            raise CorruptIndex("it is empty")
        return index

    def largest_timestamp(self) -> int:
        """The largest timestamp of its batches; -1: no batch has a timestamp."""
        if self.max_timestamp == NOT_READ:
            self.max_timestamp, relative = self._last_time_entry()
            self.max_timestamp_offset = self._files.base_offset + relative
        return self.max_timestamp

    def _last_time_entry(self) -> tuple[int, int]:
        """The last entry of the time index; of a sealed segment, only the ends of the file are read for it."""
        if self._time_index is None:
            disk, path = self._files.disk, self._files.path(TIME_INDEX)
            size = disk.size(path) if disk.exists(path) else 0
            if size > TimeIndex.ENTRY_BYTES and size % TimeIndex.ENTRY_BYTES == 0:
                file = disk.open(path, readonly=True)
                try:
                    ends = (file.read_at(at, TimeIndex.ENTRY_BYTES) for at in (0, size - TimeIndex.ENTRY_BYTES))
                    return TimeIndex.load(b"".join(ends)).last()
                except CorruptIndex:
                    pass
                finally:
                    file.close()
        return self.time_index().last()

    # Memory

    def pin(self) -> None:
        """Load all indexes, and keep them in memory: the segment is active."""
        offset_index, _ = self.both()
        if self.has_aborted:
            self.transaction_index()
        self._cache.forget(self)
        self._pinned = True
        self._note_entries(offset_index)

    def _note_entries(self, offset_index: OffsetIndex) -> None:
        self.next_entry_after = offset_index.last()[1] + self._interval_bytes
        # The offset index has the most entries (apart from the last one of the time index), of at most 12 bytes.
        self.bytes_bound = (len(offset_index) + 3) * 12

    def unpin(self) -> None:
        self._pinned = False
        self._account()

    def _account(self) -> None:
        indexes = (self._offset_index, self._time_index, self._transaction_index)
        self._cache.add(self, sum(index.size_bytes for index in indexes if index is not None))

    def drop_indexes(self) -> None:
        """Called by the cache."""
        self._offset_index = self._time_index = self._transaction_index = None

    def forget(self) -> None:
        self._cache.forget(self)

    def join_cache(self, cache: IndexCache) -> None:
        """Move to the shared cache, after the segment was opened with a separate one."""
        self._cache = cache
        if not self._pinned:
            self._account()

    # Changing

    def reset(self) -> None:
        """Empty indexes; every batch is added again."""
        self._offset_index, self._time_index = OffsetIndex(), TimeIndex()
        self._transaction_index = TransactionIndex(replaces_file=self.has_aborted)
        self.has_aborted = False
        self.max_timestamp, self.max_timestamp_offset = -1, self._files.base_offset

    def add_entry(self, last_offset: int, position: int) -> None:
        """For the batch at `position`, when `max_timestamp` includes it."""
        offset_index, time_index = self.both()
        offset_index.append(last_offset - self._files.base_offset, position)
        time_index.append(self.max_timestamp, self.max_timestamp_offset - self._files.base_offset)
        self._note_entries(offset_index)

    def add_aborted(self, entry: AbortedTransaction) -> None:
        self.transaction_index().append(entry)
        self.has_aborted = True

    def replace_transaction_index(self, entries: Iterable[AbortedTransaction]) -> None:
        """Replace a damaged index."""
        self._transaction_index = TransactionIndex(replaces_file=True)
        self.has_aborted = False
        for entry in entries:
            self.add_aborted(entry)
        self._persist_transaction_index(self._transaction_index)

    def finish_time_index(self) -> None:
        """Append the largest timestamp, which is the last entry of every time index."""
        _, time_index = self.both()
        time_index.append(self.largest_timestamp(), self.max_timestamp_offset - self._files.base_offset)

    def have_room(self, segment_index_bytes: int) -> bool:
        """For the entries of one more batch."""
        if self.bytes_bound <= segment_index_bytes:
            return True
        offset_index, time_index = self.both()
        return (
            offset_index.size_bytes + 8 <= segment_index_bytes
            and time_index.size_bytes + 24 <= segment_index_bytes  # one entry is reserved for the roll, as in Kafka
        )

    def truncate_to(self, offset: int) -> None:
        offset_index, time_index = self.both()
        offset_index.truncate_to(offset - self._files.base_offset)
        time_index.truncate_to(offset - self._files.base_offset)
        if self.has_aborted:
            transaction_index = self.transaction_index()
            transaction_index.truncate_to(offset)
            self.has_aborted = len(transaction_index) > 0

    def reread_largest_timestamp(self) -> None:
        """From the batches after the last entry: the segment was truncated."""
        offset_index, time_index = self.both()
        self.max_timestamp, relative = time_index.last()
        self.max_timestamp_offset = self._files.base_offset + relative
        for _, batch in self._batches.valid(offset_index.lookup(relative)[1]):
            self._include(batch.header.max_timestamp, batch.header.last_offset)

    def _include(self, timestamp: int, last_offset: int) -> None:
        if timestamp > self.max_timestamp:
            self.max_timestamp, self.max_timestamp_offset = timestamp, last_offset

    def rebuild_because(self, error: Exception) -> None:
        path = self._files.path(LOG)
        logger.warning("an index of %s is missing or damaged (%s): rebuilding its indexes", path, error)
        self.rebuild()

    def rebuild(self) -> None:
        """Rebuild both from the batches, all of which are read and checked: this finds all damage."""
        base_offset = self._files.base_offset
        offset_index, time_index = OffsetIndex(), TimeIndex()
        self.max_timestamp, self.max_timestamp_offset = -1, base_offset
        self._batches.damages = ()
        last_entry = 0
        for position, batch in self._batches.valid():
            last_offset = batch.header.last_offset
            self._include(batch.header.max_timestamp, last_offset)
            if position - last_entry > self._interval_bytes:
                offset_index.append(last_offset - base_offset, position)
                time_index.append(self.max_timestamp, self.max_timestamp_offset - base_offset)
                last_entry = position
        time_index.append(self.max_timestamp, self.max_timestamp_offset - base_offset)
        self.is_time_checked = True
        self._offset_index, self._time_index = offset_index, time_index
        self._note_entries(offset_index)
        try:
            self.persist()
        except OSError as error:
            # A full disk must not prevent reads: the indexes are in memory, and rebuilt again if they are dropped.
            logger.warning("the indexes of %s could not be written: %s", self._files.path(LOG), error)

    def persist(self) -> None:
        offset_index, time_index = self.both()
        offset_index.persist(self._files.disk, self._files.path(OFFSET_INDEX))
        time_index.persist(self._files.disk, self._files.path(TIME_INDEX))
        if self._transaction_index is not None:
            self._persist_transaction_index(self._transaction_index)

    def _persist_transaction_index(self, index: TransactionIndex) -> None:
        index.persist(self._files.disk, self._files.path(TXN_INDEX), self._files.path(TXN_CHECKSUM))
