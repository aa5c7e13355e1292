"""What raft asks of the rooms beside and above it. The composition root brings them together."""

from collections.abc import Awaitable, Iterable
from typing import Protocol


class SyncJob(Protocol):
    def run(self) -> None:
        """Return once the bytes are on the device. Blocking; runs on a worker."""


class MetadataLog(Protocol):
    """The log of `__cluster_metadata-0`. All calls but `SyncJob.run` are made on the loop."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last batch; 0 for an empty log."""

    def append(self, batch: bytes) -> None:
        """One batch whose base offset is `end_offset` and whose leader epoch is set. Written, not yet synced."""

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset` on; at least one, unless the log ends there."""

    def begin_sync(self) -> SyncJob | None:
        """A job for all that is appended now; None: it is synced already.

        None is a promise, on which writes are acknowledged: nobody else may have a sync of this log under way.
        """

    def finish_sync(self, job: SyncJob) -> None: ...

    def commit(self, high_watermark: int) -> None:
        """All below is committed: it may be served and, once in a snapshot, deleted."""

    def delete_prefix(self, offset: int) -> None:
        """All below `offset` is in a snapshot. The log may keep some of it."""

    def restart_at(self, offset: int, epoch: int) -> None:
        """Drop everything; the next batch has this offset. For a snapshot that reaches further than the log."""


class Listener(Protocol):
    """The state machine that the log drives. Called on the loop, in offset order, once per batch."""

    def on_snapshot(self, end_offset: int, epoch: int, records: list[bytes]) -> None:
        """Begin anew with the state at `end_offset` (exclusive): once at each start, before any commit."""

    def on_commit(self, base_offset: int, epoch: int, records: list[bytes]) -> Awaitable[None] | None:
        """A batch is committed. Its offsets follow those seen before, but for control records in between.

        An awaitable: it takes a while, and nobody is told of the commit, nor of a later one, before it is done.
        """

    def snapshot(self) -> Iterable[bytes] | None:
        """The records that make the present state, read lazily while later commits arrive; None: ask again later."""
