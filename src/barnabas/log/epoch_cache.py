"""The start offset of each leader epoch, which followers and consumers compare to find where logs diverge.

Stored in `leader-epoch-checkpoint`. Epochs and start offsets both strictly increase. The file is written when the
segments are flushed, not on each new epoch: until then, recovery reads the epochs from the batches.
"""

from bisect import bisect_right
from typing import Final, NamedTuple

from barnabas.env import Disk
from barnabas.log.checkpoint_file import CorruptCheckpoint, decode_entries, encode_entries

FILE_NAME: Final = "leader-epoch-checkpoint"
UNDEFINED_EPOCH: Final = -1
UNDEFINED_OFFSET: Final = -1


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


class EpochCache:
    __slots__ = ("dirty", "entries", "latest_epoch")

    def __init__(self, entries: list[EpochEntry] | None = None, *, dirty: bool = True) -> None:
        self.entries = entries if entries is not None else []
        self.latest_epoch = self.entries[-1].epoch if self.entries else UNDEFINED_EPOCH
        self.dirty = dirty
        """The file differs from `entries`."""

    @classmethod
    def load(cls, disk: Disk, directory: str) -> "EpochCache":
        """Raises CorruptCheckpoint or FileNotFoundError: the epochs must then be read from the batches."""
        content = disk.read_file(f"{directory}/{FILE_NAME}")
        if not content:
            raise CorruptCheckpoint("the file is empty")
        entries: list[EpochEntry] = []
        for fields in decode_entries(content):
            try:
                epoch, start_offset = map(int, fields)
            except ValueError as error:
                raise CorruptCheckpoint(f"malformed entry {fields}") from error
            if entries and (epoch <= entries[-1].epoch or start_offset <= entries[-1].start_offset):
                raise CorruptCheckpoint("entries are not in increasing order")
            entries.append(EpochEntry(epoch, start_offset))
        return cls(entries, dirty=False)

    def assign(self, epoch: int, start_offset: int) -> None:
        """`epoch` starts at `start_offset`. Entries that contradict this are dropped: they have no records."""
        if epoch < 0:
            return
        if self.entries:
            last = self.entries[-1]
            if epoch == last.epoch and start_offset >= last.start_offset:
                return
        while self.entries and (self.entries[-1].epoch >= epoch or self.entries[-1].start_offset >= start_offset):
            self.entries.pop()
        self.entries.append(EpochEntry(epoch, start_offset))
        self._changed()

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest known epoch at or below `epoch`, and its end offset; (-1, -1) if unknown."""
        if epoch < 0 or epoch > self.latest_epoch:
            return UNDEFINED_EPOCH, UNDEFINED_OFFSET
        if epoch == self.latest_epoch:
            return epoch, log_end_offset
        higher = bisect_right(self.entries, epoch, key=lambda entry: entry.epoch)
        floor = self.entries[higher - 1].epoch if higher else epoch
        return floor, self.entries[higher].start_offset

    def epoch_at(self, offset: int) -> int:
        """The leader epoch of an offset; -1 if unknown."""
        slot = bisect_right(self.entries, offset, key=lambda entry: entry.start_offset) - 1
        return self.entries[slot].epoch if slot >= 0 else UNDEFINED_EPOCH

    def truncate_from_end(self, end_offset: int) -> None:
        if self.entries and self.entries[-1].start_offset >= end_offset:
            while self.entries and self.entries[-1].start_offset >= end_offset:
                self.entries.pop()
            self._changed()

    def truncate_from_start(self, start_offset: int) -> None:
        """Drop epochs that end before `start_offset`; the one that includes it now starts there."""
        covering = bisect_right(self.entries, start_offset, key=lambda entry: entry.start_offset) - 1
        if covering > 0 or (covering == 0 and self.entries[0].start_offset < start_offset):
            self.entries[: covering + 1] = [EpochEntry(self.entries[covering].epoch, start_offset)]
            self._changed()

    def clear(self) -> None:
        self.entries.clear()
        self._changed()

    def persist(self, disk: Disk, directory: str) -> None:
        """Replace the file if it is out of date. A flush syncs it."""
        if not self.dirty:
            return
        path = f"{directory}/{FILE_NAME}"
        content = encode_entries(f"{entry.epoch} {entry.start_offset}" for entry in self.entries)
        disk.replace_file(path, content, sync=False)
        self.dirty = False

    def _changed(self) -> None:
        self.latest_epoch = self.entries[-1].epoch if self.entries else UNDEFINED_EPOCH
        self.dirty = True
