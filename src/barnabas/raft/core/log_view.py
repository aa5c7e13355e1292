"""What the core has to know about the log: where it begins and ends, and where its epochs end."""

from typing import NamedTuple, Protocol

from barnabas.raft.core.control_records import ControlMessage
from barnabas.raft.core.snapshot_file import SnapshotId


class LogPosition(NamedTuple):
    """An end offset, and the epoch of the record before it. The greater is the more complete log: epochs decide."""

    epoch: int
    end_offset: int


class LogBatch(NamedTuple):
    """A batch as the core sees it: control records are read, all others are bytes."""

    base_offset: int
    end_offset: int
    epoch: int
    data: bytes
    controls: tuple[ControlMessage | None, ...] = ()
    """Of a control batch, all its records: the first one is at `base_offset`. None: of a type that we do not know."""


class LogView(Protocol):
    """The log as it is after everything in earlier `Ready`s was carried out."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record, or of the snapshot before it if there is none; 0 for an empty log."""

    def epoch_end(self, epoch: int) -> LogPosition | None:
        """The greatest epoch up to `epoch` in this log, and where its records end.

        The epoch of the snapshot that the log begins after counts, too, if it is known. None: all epochs here are
        greater, and the log does not begin at offset 0; a log that does answers (0, 0).
        """

    @property
    def latest_snapshot(self) -> SnapshotId | None: ...

    def snapshot_size(self, snapshot_id: SnapshotId) -> int | None:
        """In bytes; None if there is no such snapshot."""


def end_of(log: LogView) -> LogPosition:
    return LogPosition(log.last_epoch, log.end_offset)
