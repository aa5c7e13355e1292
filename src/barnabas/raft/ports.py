"""The interfaces that Raft needs; `node` implements or connects them."""

from collections.abc import Awaitable, Iterable
from typing import Protocol


class SyncJob(Protocol):
    def run(self) -> None:
        """Return once the bytes are on the device. Blocks; runs on a worker."""


class MetadataLog(Protocol):
    """The log of `__cluster_metadata-0`. Everything except `SyncJob.run` is called on the loop."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last batch; 0 for an empty log."""

    def epoch_end(self, epoch: int) -> tuple[int, int] | None:
        """The greatest epoch up to `epoch` with records here, and where they end; None: all epochs are greater."""

    def append(self, batch: bytes) -> None:
        """Write one batch, with base offset `end_offset` and its leader epoch set. It is not synced yet."""

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Complete batches, beginning with the one that contains `offset`; at least one, unless the log ends there."""

    def begin_sync(self) -> SyncJob | None:
        """A job that syncs everything appended so far; None if it is synced already.

        Writes are acknowledged when this returns None, so no other sync of this log may be in progress.
        """

    def finish_sync(self, job: SyncJob) -> None: ...

    def commit(self, high_watermark: int) -> None:
        """Everything below is committed: it may be served and, once in a snapshot, deleted."""

    def delete_prefix(self, offset: int) -> None:
        """Everything below `offset` is in a snapshot. The log may keep some of it."""

    def restart_at(self, offset: int, epoch: int) -> None:
        """Drop everything; the next batch has this offset. For a snapshot that ends after the log."""


class Listener(Protocol):
    """The state machine that replays the log. Called on the loop, once per batch, in offset order."""

    def on_snapshot(self, end_offset: int, epoch: int, records: list[bytes]) -> None:
        """Start from the state before `end_offset`: called once at each start, before any commit."""

    def on_commit(self, base_offset: int, epoch: int, records: list[bytes]) -> Awaitable[None] | None:
        """A batch is committed. Its offsets follow those of the last one, except for control records in between.

        If it returns an awaitable, appends and later commits wait until that is done.
        """

    def snapshot(self) -> Iterable[bytes] | None:
        """The records of the current state, read lazily while later commits arrive; None: not possible now."""
