"""The core's view of the log on disk."""

from barnabas.raft.core.log_view import LogPosition
from barnabas.raft.core.snapshot_file import SnapshotId
from barnabas.raft.ports import MetadataLog


class StoredLog:
    def __init__(self, log: MetadataLog, snapshot_id: SnapshotId) -> None:
        self._log = log
        self._snapshot_id = snapshot_id
        self._snapshot_size: int | None = None

    def on_snapshot(self, snapshot_id: SnapshotId, size: int) -> None:
        """There is a newer one now, and no older one any more."""
        self._snapshot_id, self._snapshot_size = snapshot_id, size

    @property
    def start_offset(self) -> int:
        return self._log.start_offset

    @property
    def end_offset(self) -> int:
        return self._log.end_offset

    @property
    def last_epoch(self) -> int:
        return max(self._log.last_epoch, self._snapshot_id.epoch)

    def epoch_end(self, epoch: int) -> LogPosition | None:
        found = self._log.epoch_end(epoch)
        if found is not None:
            return LogPosition(*found)
        if self._log.start_offset == 0:
            return LogPosition(0, 0)
        begins_with_it = self._log.start_offset == self._snapshot_id.end_offset
        if begins_with_it and self._snapshot_id.epoch <= epoch:
            return LogPosition(self._snapshot_id.epoch, self._log.start_offset)
        return None

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        return self._snapshot_id

    def snapshot_size(self, snapshot_id: SnapshotId) -> int | None:
        """Of the newest one, if it was written or fetched since the start."""
        return self._snapshot_size if snapshot_id == self._snapshot_id else None
