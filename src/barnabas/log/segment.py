"""One segment: batches in a `.log` file, with its indexes.

The newest segment of a log is active: batches are appended to it, its indexes are in memory, and so are the positions
of its newest batches. The other segments are sealed: only their name and size is in memory until they are read.

Bytes that this process wrote or checked are served without a check. Other bytes are checked once, when they are first
read (see `log_slice`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from barnabas.env import Disk, File
from barnabas.log.batch_finder import BatchFinder, DamagedRecords, FoundBatch
from barnabas.log.batch_scan import RELATIVE_OFFSET_MAX, Damage, PlacedBatch
from barnabas.log.batch_tail import BATCHES_MAX, NO_OFFSET, BatchTail
from barnabas.log.file_names import LOG
from barnabas.log.index_cache import IndexCache
from barnabas.log.segment_batches import SegmentBatches
from barnabas.log.segment_files import SegmentFiles
from barnabas.log.segment_indexes import SegmentIndexes
from barnabas.log.settings import LogSettings
from barnabas.records.batch import Buffer


class BatchPlacement(NamedTuple):
    """The offsets, timestamp and size of a batch that is appended."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    size: int


class Segment:
    __slots__ = (
        "_tail",
        "base_offset",
        "batches",
        "created_ms",
        "files",
        "finder",
        "first_timestamp",
        "indexes",
        "roll_jitter_ms",
        "sealed",
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
        self.base_offset = base_offset
        self.files = SegmentFiles(disk, directory, base_offset, suffix)
        self.batches = SegmentBatches(self.files, size)
        self.indexes = SegmentIndexes(self.files, self.batches, index_interval_bytes, cache)
        self.finder = BatchFinder(self.files, self.batches, self.indexes)
        self._tail = BatchTail()
        """Empty unless the segment is active."""
        self.created_ms = created_ms
        self.sealed = True
        """Not active: nothing is appended to it."""
        self.synced = True
        """Sealed, and all its files are synced."""
        self.first_timestamp: int | None = None
        """The largest timestamp of the first append, from which `segment.ms` counts. None: not read yet."""
        self.roll_jitter_ms = 0
        """How much earlier than after `segment.ms` it is rolled, so that not all logs roll at the same time."""
        self.trusted_from = size
        """Bytes from this position on were written or recovered by this process; `<= size`."""
        self.verified_to = 0
        """Bytes below this position were read and checked by this process; `<= size`."""

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
        segment.indexes.reset()
        segment.files.create_log()
        segment.indexes.persist()
        segment.activate(base_offset)
        return segment

    def __repr__(self) -> str:
        return f"Segment({self.path(LOG)})"

    @property
    def size(self) -> int:
        return self.batches.size

    @property
    def file(self) -> File:
        return self.files.log

    def path(self, kind: str) -> str:
        return self.files.path(kind)

    # Writing

    def activate(self, next_offset: int) -> None:
        """Make this the segment that is appended to, from `next_offset` on."""
        self.indexes.pin()
        self.finder.checked_largest_timestamp()
        self.rolling_timestamp()
        self.sealed = False
        self.synced = False
        self._tail.restart(next_offset)

    def append(self, pieces: Sequence[Buffer], placed: Sequence[BatchPlacement]) -> None:
        """Append batches in one write. After an OSError the file may have a torn write at its end."""
        files = self.files
        (files.opened_log or files.log).write_at(self.batches.size, pieces)
        self.add_batches(placed)

    def append_one(self, batch: Buffer, last_offset: int, max_timestamp: int) -> None:
        """Like `append`, for one batch."""
        files, position = self.files, self.batches.size
        (files.opened_log or files.log).write_at(position, (batch,))
        if position == 0:
            self.first_timestamp = max_timestamp
        self._add_batch(last_offset, max_timestamp, len(batch))

    def add_batches(self, placed: Sequence[BatchPlacement]) -> None:
        """Update size, indexes and timestamps for batches that are in the file from `size` on."""
        if self.batches.size == 0:
            self.first_timestamp = max([batch.max_timestamp for batch in placed])
        for _, last_offset, max_timestamp, size in placed:
            self._add_batch(last_offset, max_timestamp, size)

    def _add_batch(self, last_offset: int, max_timestamp: int, size: int) -> None:
        batches, indexes, tail = self.batches, self.indexes, self._tail
        position = batches.size
        batches.size = position + size
        if max_timestamp > indexes.max_timestamp:
            indexes.max_timestamp = max_timestamp
            indexes.max_timestamp_offset = last_offset
        if position > indexes.next_entry_after:
            indexes.add_entry(last_offset, position)
        tail.last_offsets.append(last_offset)
        positions = tail.positions
        positions.append(position)
        if len(positions) > BATCHES_MAX:
            tail.drop_oldest()

    def truncate_torn_write(self) -> None:
        """After a failed write: truncate the file to the end of the last successful write."""
        self.file.truncate(self.size)

    def truncate_at(self, position: int) -> None:
        """Truncate the segment at the end of its last valid batch."""
        self.batches.truncate(position)
        self.trusted_from = position
        self.verified_to = min(self.verified_to, position)
        self.indexes.rebuild()

    def keep_damage(self, damage: Damage) -> None:
        """Keep the damaged bytes that follow at `size`; the next batch comes after them."""
        self.batches.remember_damage(damage)
        self.batches.size = damage.end
        self._tail.restart(NO_OFFSET if damage.next_offset is None else damage.next_offset)

    def has_room_for(self, size: int, last_offset: int, timestamp: int, settings: LogSettings, now_ms: int) -> bool:
        """Whether these batches can be appended, or a new segment must be rolled. Only for the active segment.

        Its age is measured by the timestamps of its records, if they have any.
        """
        first_ms = self.first_timestamp if self.first_timestamp is not None else self.rolling_timestamp()
        open_ms = timestamp - first_ms if first_ms >= 0 else now_ms - self.created_ms
        old_size = self.batches.size
        indexes = self.indexes
        return (
            old_size + size <= settings.segment_bytes
            and (open_ms <= settings.segment_ms - self.roll_jitter_ms or old_size == 0)
            and last_offset - self.base_offset <= RELATIVE_OFFSET_MAX
            and (indexes.bytes_bound <= settings.segment_index_bytes or indexes.have_room(settings.segment_index_bytes))
        )

    def seal(self) -> None:
        """End appends to this segment, and write its indexes to their files."""
        self.indexes.finish_time_index()
        self.indexes.persist()
        self.sealed = True
        self._tail.restart()
        self.indexes.unpin()

    def truncate_to(self, offset: int) -> int:
        """Drop every batch with `offset` or a later one; returns the new log end offset.

        That is `offset`, or the base offset of the batch that contains it. Call `activate` afterwards.
        """
        batches = self.batches
        position = self.position_of(offset)
        end_offset = offset
        if position < batches.size:
            damage = batches.damage_of(offset)
            first_offset = next(batches.headers(position))[1].base_offset if damage is None else damage.first_offset
            end_offset = min(offset, first_offset)
        self.indexes.truncate_to(offset)
        batches.truncate(position)
        self.trusted_from = min(self.trusted_from, batches.size)
        self.verified_to = min(self.verified_to, batches.size)
        self._tail.restart()
        self.first_timestamp = None
        self.indexes.reread_largest_timestamp()
        return end_offset

    def reset(self) -> None:
        """Reset everything that is in memory. Recovery adds every valid batch again."""
        self.indexes.reset()
        self.batches.size = self.trusted_from = self.verified_to = 0
        self.batches.damages = ()
        self.first_timestamp = None
        self.activate(self.base_offset)

    # Reading

    def scan(self) -> Iterator[PlacedBatch | Damage]:
        """Every batch, checked, and the damage between them, which is remembered."""
        return self.batches.scan()

    def seek(self, offset: int) -> FoundBatch | None:
        """The first batch that ends at or after `offset`, or None. Raises DamagedRecords if `offset` is damaged."""
        tail = self._tail
        if offset >= tail.start_offset:
            return tail.find(offset, self.batches.size)
        return self.finder.find(offset)

    def position_of(self, offset: int) -> int:
        """The position of the first batch or damage that ends at or after `offset`; the size if there is none."""
        try:
            found = self.seek(offset)
        except DamagedRecords as error:
            return error.damage.position
        return self.size if found is None else found.position

    def upper_bound_offset(self, position: int) -> int | None:
        """An offset above all batches before `position`, and close to them; None: use the end of the segment."""
        if self._tail.covers(position):
            return self._tail.upper_bound_offset(position)
        relative = self.indexes.offset_index().offset_at_or_after(position)
        return None if relative is None else self.base_offset + relative

    def rolling_timestamp(self) -> int:
        if self.first_timestamp is None:
            first = self.batches.first_header()
            if first is None:
                return -1
            self.first_timestamp = first.max_timestamp
        return self.first_timestamp

    def retention_timestamp(self) -> int:
        """The timestamp for retention by time; without record timestamps, the file's modification time."""
        largest = self.finder.checked_largest_timestamp()
        return largest if largest >= 0 else self.files.disk.mtime_ms(self.path(LOG))

    # Deleting and closing

    def mark_deleted(self) -> list[File]:
        """Rename its files. Returns the open file, if any, to be closed when the files are removed."""
        self.files.mark_deleted()
        return self.detach()

    def detach(self) -> list[File]:
        """Return the file, if it is open, for the caller to close."""
        self.indexes.forget()
        return self.files.detach()

    def close(self) -> None:
        for file in self.detach():
            file.close()
