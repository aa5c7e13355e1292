"""One segment: batches in a `.log` file, with its indexes.

The newest segment of a log is active: batches are appended to it, its indexes are in memory, and so are the positions
of its newest batches, so that reads at the tail need no lookup on disk. The other segments are sealed: only their name
and size is in memory until they are read.

Bytes that this process wrote or checked are served without a check. Other bytes are checked once, when they are first
read (see `log_slice`).
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

from barnabas.env import Disk
from barnabas.log.batch_scan import RELATIVE_OFFSET_MAX, Damage
from barnabas.log.file_names import LOG
from barnabas.log.index_cache import IndexCache
from barnabas.log.offset_index import OffsetIndex
from barnabas.log.searchable_segment import DamagedRecords, FoundBatch, SearchableSegment
from barnabas.log.settings import LogSettings
from barnabas.log.time_index import TimeIndex
from barnabas.log.transaction_index import TransactionIndex
from barnabas.records.batch import Buffer

TAIL_BATCHES_MAX: Final = 1024
"""How many of the newest batches have their position in memory: enough for consumers at the tail; 16 KiB per log."""

NO_TAIL: Final = 2**63


class BatchPlacement(NamedTuple):
    """The offsets, timestamp and size of a batch that is appended."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    size: int


class Segment(SearchableSegment):
    __slots__ = (
        "_bytes_since_index",
        "_tail_last_offsets",
        "_tail_positions",
        "_tail_start",
        "created_ms",
        "first_timestamp",
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
        super().__init__(
            disk,
            directory,
            base_offset,
            size=size,
            index_interval_bytes=index_interval_bytes,
            cache=cache,
            suffix=suffix,
        )
        self.created_ms = created_ms
        self.synced = True
        """Sealed, and all its files are synced."""
        self.first_timestamp: int | None = None
        """The largest timestamp of the first append, from which `segment.ms` counts. None: not read yet."""
        self.trusted_from = size
        """Bytes from this position on were written or recovered by this process."""
        self.verified_to = 0
        """Bytes below this position were read and checked by this process."""
        self._bytes_since_index = 0
        # The last offset and the position of each of the newest batches, which have all offsets from _tail_start on.
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
        """A new, empty, active segment. Existing files with its name are emptied."""
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
        segment._offset_index, segment._time_index = OffsetIndex(), TimeIndex()
        segment._file = disk.open(segment.path(LOG), create=True)
        if segment._file.size():
            segment._file.truncate(0)
        segment.persist_indexes()
        segment.activate(base_offset)
        return segment

    # Writing

    def activate(self, next_offset: int) -> None:
        """Make this the segment that is appended to, from `next_offset` on."""
        offset_index, _ = self.indexes()
        if self.has_aborted:
            self.transaction_index()
        self._cache.forget(self)
        self.checked_largest_timestamp()
        self.rolling_timestamp()
        self.sealed = False
        self.synced = False
        self._bytes_since_index = self.size - offset_index.last()[1]
        self._tail_start = next_offset
        self._tail_last_offsets.clear()
        self._tail_positions.clear()

    def append(self, pieces: Sequence[Buffer], placed: Sequence[BatchPlacement]) -> None:
        """Append batches in one write. After an OSError the file may have a torn write at its end."""
        (self._file or self.file).write_at(self.size, pieces)
        self.add_batches(placed)

    def append_one(self, batch: Buffer, last_offset: int, max_timestamp: int) -> None:
        """Like `append`, for one batch."""
        position = self.size
        (self._file or self.file).write_at(position, (batch,))
        if position == 0:
            self.first_timestamp = max_timestamp
        self._add_batch(last_offset, max_timestamp, len(batch))

    def add_batches(self, placed: Sequence[BatchPlacement]) -> None:
        """Update size, indexes and timestamps for batches that are in the file from `size` on."""
        if self.size == 0:
            self.first_timestamp = max([batch.max_timestamp for batch in placed])
        for _, last_offset, max_timestamp, size in placed:
            self._add_batch(last_offset, max_timestamp, size)

    def _add_batch(self, last_offset: int, max_timestamp: int, size: int) -> None:
        assert self.max_timestamp is not None
        position = self.size
        self.size = position + size
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.max_timestamp_offset = last_offset
        if self._bytes_since_index > self._index_interval_bytes:
            assert self._offset_index is not None
            assert self._time_index is not None
            self._offset_index.append(last_offset - self.base_offset, position)
            self._time_index.append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
            self._bytes_since_index = 0
        self._bytes_since_index += size
        last_offsets, positions = self._tail_last_offsets, self._tail_positions
        last_offsets.append(last_offset)
        positions.append(position)
        if len(positions) > TAIL_BATCHES_MAX:
            cut = TAIL_BATCHES_MAX // 2
            self._tail_start = last_offsets[cut - 1] + 1
            del last_offsets[:cut], positions[:cut]

    def truncate_torn_write(self) -> None:
        """After a failed write: truncate the file to the end of the last successful write."""
        self.file.truncate(self.size)

    def truncate_at(self, position: int) -> None:
        """Truncate the segment at the end of its last valid batch."""
        self.file.truncate(position)
        self.size = self.trusted_from = position
        self.verified_to = min(self.verified_to, position)
        self.rebuild_indexes()

    def keep_damage(self, damage: Damage) -> None:
        """Keep the damaged bytes that follow at `size`; the next batch comes after them."""
        self.remember_damage(damage)
        self.size = damage.end
        self._bytes_since_index += damage.size
        self._tail_start = NO_TAIL if damage.next_offset is None else damage.next_offset
        self._tail_last_offsets.clear()
        self._tail_positions.clear()

    def has_room_for(
        self, size: int, last_offset: int, timestamp: int, settings: LogSettings, *, open_ms_max: int, now_ms: int
    ) -> bool:
        """Whether these batches can be appended, or a new segment must be rolled. Only for the active segment.

        Its age is measured by the timestamps of its records, if they have any.
        """
        assert self._offset_index is not None
        first_ms = self.first_timestamp if self.first_timestamp is not None else self.rolling_timestamp()
        open_ms = timestamp - first_ms if first_ms >= 0 else now_ms - self.created_ms
        # The offset index has the most entries (apart from the last one of the time index), of at most 12 bytes.
        index_bytes_bound = (len(self._offset_index.offsets) + 3) * 12
        return (
            self.size + size <= settings.segment_bytes
            and (open_ms <= open_ms_max or self.size == 0)
            and last_offset - self.base_offset <= RELATIVE_OFFSET_MAX
            and (
                index_bytes_bound <= settings.segment_index_bytes
                or self._indexes_have_room(settings.segment_index_bytes)
            )
        )

    def _indexes_have_room(self, segment_index_bytes: int) -> bool:
        offset_index, time_index = self.indexes()
        return (
            offset_index.size_bytes + 8 <= segment_index_bytes
            and time_index.size_bytes + 24 <= segment_index_bytes  # one entry is reserved for the roll, as in Kafka
        )

    def seal(self) -> None:
        """End appends to this segment, and write its indexes to their files."""
        self.finish_time_index()
        self.persist_indexes()
        self.sealed = True
        self._tail_start = NO_TAIL
        self._tail_last_offsets.clear()
        self._tail_positions.clear()
        self._account()

    def truncate_to(self, offset: int) -> int:
        """Drop every batch with `offset` or a later one; returns the new log end offset.

        That is `offset`, or the base offset of the batch that contains it. Call `activate` afterwards.
        """
        position = self.position_of(offset)
        end_offset = offset
        if position < self.size:
            damage = self.damage_of(offset)
            first_offset = next(self.headers(position))[1].base_offset if damage is None else damage.first_offset
            end_offset = min(offset, first_offset)
        offset_index, time_index = self.indexes()
        offset_index.truncate_to(offset - self.base_offset)
        time_index.truncate_to(offset - self.base_offset)
        if self.has_aborted:
            transaction_index = self.transaction_index()
            transaction_index.truncate_to(offset)
            self.has_aborted = len(transaction_index) > 0
        if position < self.size:
            self.file.truncate(position)
            self.size = position
        self.damages = tuple(damage for damage in self.damages if damage.end <= self.size)
        self.trusted_from = min(self.trusted_from, self.size)
        self.verified_to = min(self.verified_to, self.size)
        self._tail_start = NO_TAIL
        self.first_timestamp = None
        self.max_timestamp, relative = time_index.last()
        self.max_timestamp_offset = self.base_offset + relative
        for _, batch in self.batches(offset_index.lookup(relative)[1]):
            if batch.header.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.max_timestamp_offset = batch.header.max_timestamp, batch.header.last_offset
        return end_offset

    def reset(self) -> None:
        """Reset everything that is in memory. Recovery adds every valid batch again."""
        self._offset_index, self._time_index = OffsetIndex(), TimeIndex()
        self._transaction_index = TransactionIndex(replaces_file=self.has_aborted)
        self.has_aborted = False
        self.size = self.trusted_from = self.verified_to = 0
        self.damages = ()
        self.first_timestamp = None
        self.max_timestamp, self.max_timestamp_offset = -1, self.base_offset
        self.activate(self.base_offset)

    # Reading

    def seek(self, offset: int) -> FoundBatch | None:
        """The first batch that ends at or after `offset`, or None. Raises DamagedRecords if `offset` is damaged."""
        if offset >= self._tail_start:
            slot = bisect_left(self._tail_last_offsets, offset)
            if slot == len(self._tail_positions):
                return None
            position = self._tail_positions[slot]
            end = self._tail_positions[slot + 1] if slot + 1 < len(self._tail_positions) else self.size
            return FoundBatch(position, end - position, None)
        return self.find(offset)

    def position_of(self, offset: int) -> int:
        """The position of the first batch or damage that ends at or after `offset`; the size if there is none."""
        try:
            found = self.seek(offset)
        except DamagedRecords as error:
            return error.damage.position
        return self.size if found is None else found.position

    def upper_bound_offset(self, position: int) -> int | None:
        """An offset above all batches before `position`, and close to them; None: use the end of the segment."""
        if self._tail_positions and position >= self._tail_positions[0]:
            slot = bisect_left(self._tail_positions, position)
            return self._tail_last_offsets[slot - 1] + 1 if 0 < slot < len(self._tail_positions) else None
        relative = self.offset_index().offset_at_or_after(position)
        return None if relative is None else self.base_offset + relative

    def rolling_timestamp(self) -> int:
        if self.first_timestamp is None:
            first = self.first_header()
            if first is None:
                return -1
            self.first_timestamp = first.max_timestamp
        return self.first_timestamp

    def retention_timestamp(self) -> int:
        """The timestamp for retention by time; without record timestamps, the file's modification time."""
        largest = self.checked_largest_timestamp()
        return largest if largest >= 0 else self._disk.mtime_ms(self.path(LOG))
