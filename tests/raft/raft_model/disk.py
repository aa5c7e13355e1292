"""A log in memory that remembers what of it is on disk, and the rest of what one replica stores."""

import uuid
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from barnabas.raft.core.election_state import ElectionState
from barnabas.raft.core.log_view import LogBatch, LogPosition
from barnabas.raft.core.snapshot_file import SnapshotId
from barnabas.raft.core.voters import VoterSet


class Snapshot(NamedTuple):
    content: bytes
    voters: VoterSet
    kraft_version: int


class LogImage(NamedTuple):
    start_offset: int = 0
    base_epoch: int | None = 0
    """Of the record before the first; None: unknown."""
    batches: tuple[LogBatch, ...] = ()


class MemoryLog:
    """`LogView`, and what the shell does to a log."""

    def __init__(self, image: LogImage, snapshots: dict[SnapshotId, Snapshot]) -> None:
        self.image = image
        self.snapshots = snapshots
        self.synced = image
        self.unsynced: list[LogImage] = []
        """Each state after `synced`: a power cut may keep any of them."""

    @property
    def start_offset(self) -> int:
        return self.image.start_offset

    @property
    def end_offset(self) -> int:
        image = self.image
        return image.batches[-1].end_offset if image.batches else image.start_offset

    @property
    def last_epoch(self) -> int:
        image = self.image
        return image.batches[-1].epoch if image.batches else image.base_epoch or 0

    def epoch_end(self, epoch: int) -> LogPosition | None:
        image = self.image
        for batch in reversed(image.batches):
            if batch.epoch <= epoch:
                return LogPosition(batch.epoch, batch.end_offset)
        if image.start_offset == 0:
            return LogPosition(0, 0)
        if image.base_epoch is not None and image.base_epoch <= epoch:
            return LogPosition(image.base_epoch, image.start_offset)
        return None

    def epoch_before(self, end_offset: int) -> int | None:
        for batch in reversed(self.image.batches):
            if batch.base_offset < end_offset <= batch.end_offset:
                return batch.epoch
        return self.image.base_epoch if end_offset == self.start_offset else None

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        return max(self.snapshots, default=None)

    def snapshot_size(self, snapshot_id: SnapshotId) -> int | None:
        found = self.snapshots.get(snapshot_id)
        return None if found is None else len(found.content)

    def read(self, offset: int, batches_max: int) -> tuple[LogBatch, ...]:
        found = [batch for batch in self.image.batches if batch.end_offset > offset]
        return tuple(found[:batches_max])

    def _change(self, image: LogImage) -> None:
        self.image = image
        self.unsynced.append(image)

    def append(self, batch: LogBatch) -> None:
        assert batch.base_offset == self.end_offset, (batch, self.end_offset)
        assert batch.epoch >= self.last_epoch
        self._change(self.image._replace(batches=(*self.image.batches, batch)))

    def truncate(self, offset: int) -> None:
        assert offset >= self.start_offset
        kept = tuple(batch for batch in self.image.batches if batch.end_offset <= offset)
        assert (kept[-1].end_offset if kept else self.start_offset) == offset, "truncated within a batch"
        self._change(self.image._replace(batches=kept))

    def restart_at(self, snapshot_id: SnapshotId) -> None:
        self._change(LogImage(snapshot_id.end_offset, snapshot_id.epoch))

    def delete_prefix(self, offset: int) -> None:
        batches = self.image.batches
        kept = tuple(batch for batch in batches if batch.base_offset >= offset)
        start = kept[0].base_offset if kept else self.end_offset
        epoch = self.epoch_before(start)
        self._change(LogImage(start, epoch, kept))

    def sync(self, image: LogImage) -> None:
        """`image` is on disk now."""
        if image in self.unsynced:
            del self.unsynced[: self.unsynced.index(image) + 1]
            self.synced = image

    def power_cut(self, random: Random) -> None:
        self.image = self.synced = random.choice([self.synced, *self.unsynced])
        self.unsynced.clear()


@dataclass
class Disk:
    directory_id: uuid.UUID
    election: ElectionState | None = None
    log: MemoryLog = field(init=False)
    snapshots: dict[SnapshotId, Snapshot] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.log = MemoryLog(LogImage(), self.snapshots)
