"""The shell of Raft: one replica of the metadata quorum on the event loop.

An append writes its batch at once, so appends keep the order of the calls, and then waits for a sync by a worker. All
batches that arrive during a sync share the next one (group commit). A committed batch goes to the listener first, then
the appends that wait for it return: so they find it in the listener's state.

A start replays the newest snapshot and the log after it, then opens a new epoch. The log counts as committed, and is
passed to the listener, only when the first record of that epoch is on disk.

A failed sync stops the node: it is unknown what the disk holds, and only a restart can read it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Final, NamedTuple

from barnabas.env import Clock, Disk, Workers
from barnabas.raft.core.control_records import control_record
from barnabas.raft.core.log_batch import log_batch
from barnabas.raft.core.quorum import LocalReplica
from barnabas.raft.core.raft import Raft
from barnabas.raft.core.ready import Ready
from barnabas.raft.core.snapshot_file import DECOMPRESSED_BYTES_MAX, SnapshotId, encode_snapshot
from barnabas.raft.core.voter_history import VoterHistory
from barnabas.raft.core.voters import ReplicaKey, VoterSet
from barnabas.raft.ports import Listener, MetadataLog
from barnabas.raft.quorum_directory import QuorumDirectory, StoredSnapshot
from barnabas.raft.stored_log import StoredLog
from barnabas.records.batch import Batch, read_batch, split_batches
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.wire.errors import KafkaStorageError, NotController, RecordListTooLarge

BATCH_BYTES_MAX: Final = 8 * 1024 * 1024
"""The largest batch that Kafka's Raft accepts."""
_READ_BYTES: Final = 1024 * 1024
LONG_BATCH_RECORDS: Final = 200
"""Larger batches are encoded and decoded by a worker: a topic may have ten thousand partitions."""
SNAPSHOT_INTERVAL_BYTES: Final = 20 * 1024 * 1024
"""metadata.log.max.record.bytes.between.snapshots"""

_logger = logging.getLogger(__name__)


class _Uncommitted(NamedTuple):
    batch: Batch
    committed: asyncio.Future[int] | None = None
    """None if nobody waits, as for batches read from the log at start."""


class RaftNode:
    def __init__(
        self,
        *,
        local: ReplicaKey,
        directory: str,
        log: MetadataLog,
        listener: Listener,
        on_failure: Callable[[Exception], None],
        disk: Disk,
        clock: Clock,
        workers: Workers,
        snapshot_interval_bytes: int = SNAPSHOT_INTERVAL_BYTES,
    ) -> None:
        self._local = local
        self._files = QuorumDirectory(disk, directory)
        self._directory = directory
        self._log = log
        self._listener = listener
        self._on_failure = on_failure
        self._clock = clock
        self._workers = workers
        self._snapshot_interval_bytes = snapshot_interval_bytes
        self._raft: Raft | None = None
        self._view: StoredLog | None = None
        self._uncommitted: deque[_Uncommitted] = deque()
        self._synced_end = -1
        self._syncing: asyncio.Task[None] | None = None
        self._snapshotting: asyncio.Task[SnapshotId | None] | None = None
        self._bytes_since_snapshot = 0
        self._applied = SnapshotId(0, 0)  # the id that a snapshot of the listener's state would have now
        self._applied_timestamp = -1
        self._stopped: Exception | None = None

    @property
    def epoch(self) -> int:
        return 0 if self._raft is None else self._raft.epoch

    @property
    def leader_id(self) -> int:
        """-1: unknown."""
        return -1 if self._raft is None else self._raft.leader_id

    @property
    def high_watermark(self) -> int:
        """Everything below is committed. 0 until the first commit after the start."""
        return 0 if self._raft is None else self._raft.high_watermark or 0

    @property
    def log_end_offset(self) -> int:
        return self._log.end_offset

    @property
    def voters(self) -> VoterSet:
        return VoterSet(()) if self._raft is None else self._raft.voters

    async def start(self) -> None:
        """Returns when this node leads and the listener has got everything that is committed."""
        await self._workers.run(self._files.remove_unfinished)
        stored = await self._workers.run(self._files.newest_snapshot)
        if stored is None:
            raise KafkaStorageError(f"{self._directory} holds no metadata quorum; format it first")
        history = self._replay(stored)
        if self._local not in history.voters:
            raise KafkaStorageError(
                f"{self._directory} belongs to the voters {history.voters.ids}, and node {self._local.id} with "
                f"directory id {self._local.directory_id} is not one of them; "
                "start the node with the id it was formatted with"
            )
        await self._workers.run(lambda: self._files.remove_snapshots_before(stored.id))
        self._view = StoredLog(self._log, stored.id)
        local = history.voters.find(self._local.id)
        assert local is not None
        self._raft = Raft(
            local=LocalReplica(local, cluster_id=""),
            history=history,
            log=self._view,
            election=await self._workers.run(self._files.read_election),
            random_below=Random(self._local.directory_id.int).randrange,
        )
        await self._elect(self._raft)
        self._syncing = asyncio.get_running_loop().create_task(self._sync(self._raft))
        await self._syncing
        if self._stopped is not None:
            raise self._stopped

    async def _elect(self, raft: Raft) -> None:
        ready = raft.start(self._clock.monotonic_ms())
        while ready.election is not None:
            await self._workers.run(partial(self._files.write_election, ready.election))
            ready = raft.on_persisted(ready.election, self._clock.monotonic_ms())
        if not ready.append:
            raise KafkaStorageError(
                f"the quorum has {len(raft.voters.voters)} voters, but this version supports only one"
            )
        self._carry_out(raft, ready)

    def _carry_out(self, raft: Raft, ready: Ready) -> None:
        for control in ready.append:
            now_ms = self._clock.now_ms()
            records = [control_record(message, timestamp=now_ms) for message in control.messages]
            self._uncommitted.append(_Uncommitted(self._write(records, control.epoch, control=True)))
        if ready.append:
            raft.on_log_changed(self._clock.monotonic_ms())

    def append(self, records: Sequence[bytes]) -> Awaitable[int]:
        """Append the records as one batch: all or none of them are committed.

        Returns the offset of the last record, once the batch is committed and the listener has got it. Small batches
        are written before the first await, so they keep the order of the calls; to order large ones, await each.
        """
        if self._stopped is not None:
            raise self._stopped
        if self._raft is None or not self._raft.may_append(self._clock.monotonic_ms()):
            raise NotController("this node does not lead the metadata quorum")
        if sum(map(len, records)) > BATCH_BYTES_MAX:
            raise RecordListTooLarge(
                f"the metadata records of one request have more than {BATCH_BYTES_MAX} bytes; split the request"
            )
        if len(records) > LONG_BATCH_RECORDS:
            return self._append_long(records, self._raft)
        return self._commit(self._build(records, self._log.end_offset, self._raft.epoch), self._raft)

    def _build(self, records: Sequence[bytes], base_offset: int, epoch: int) -> bytes:
        now_ms = self._clock.now_ms()
        values = [Record(timestamp=now_ms, value=value) for value in records]
        return build_batch(values, base_offset=base_offset, leader_epoch=epoch)

    async def _append_long(self, records: Sequence[bytes], raft: Raft) -> int:
        while True:
            place = self._log.end_offset, raft.epoch
            data = await self._workers.run(partial(self._build, records, *place))
            if self._stopped is not None:
                raise self._stopped
            if place == (self._log.end_offset, raft.epoch):  # else another append was faster: build it again
                return await self._commit(data, raft)

    def _commit(self, data: bytes, raft: Raft) -> "asyncio.Future[int]":
        self._log.append(data)
        loop = asyncio.get_running_loop()
        committed: asyncio.Future[int] = loop.create_future()
        self._uncommitted.append(_Uncommitted(read_batch(data), committed))
        if self._syncing is None:
            self._syncing = loop.create_task(self._sync(raft))
        return committed

    async def snapshot(self) -> SnapshotId | None:
        """Write a snapshot of the listener's state, and delete the log before it. None: the listener is not ready."""
        if self._snapshotting is None:
            self._snapshotting = asyncio.get_running_loop().create_task(self._write_snapshot())
        return await asyncio.shield(self._snapshotting)

    async def close(self) -> None:
        """Refuse new appends, and wait for those in progress. The caller closes the log."""
        if self._stopped is None:
            self._stopped = NotController("this node is shutting down")
        for task in (self._syncing, self._snapshotting):
            if task is not None:
                await asyncio.wait((task,))

    def _replay(self, stored: StoredSnapshot) -> VoterHistory:
        """Pass the snapshot to the listener, and queue the log after it. Returns the voters found."""
        log, (snapshot_id, snapshot) = self._log, stored
        if log.end_offset < snapshot_id.end_offset:
            log.restart_at(snapshot_id.end_offset, snapshot_id.epoch)
        if log.start_offset > snapshot_id.end_offset:
            raise KafkaStorageError(
                f"{self._directory}: the log begins at offset {log.start_offset}, the newest snapshot ends at "
                f"{snapshot_id.end_offset}; restore the snapshots in between from a backup"
            )
        log.commit(snapshot_id.end_offset)
        log.delete_prefix(snapshot_id.end_offset)
        self._applied, self._applied_timestamp = snapshot_id, snapshot.last_timestamp
        self._listener.on_snapshot(snapshot_id.end_offset, snapshot_id.epoch, snapshot.records)
        history = VoterHistory(
            snapshot.voters or VoterSet(()), kraft_version=snapshot.kraft_version, offset=snapshot_id.end_offset - 1
        )
        for batch in _batches_from(log, snapshot_id.end_offset):
            self._uncommitted.append(_Uncommitted(batch))
            if batch.header.is_control:
                history.add(log_batch(batch))
        return history

    def _write(self, records: Sequence[Record], epoch: int, *, control: bool = False) -> Batch:
        data = build_batch(records, base_offset=self._log.end_offset, leader_epoch=epoch, control=control)
        self._log.append(data)
        return read_batch(data)

    async def _sync(self, raft: Raft) -> None:
        try:
            while self._synced_end < self._log.end_offset:
                end_offset = self._log.end_offset
                job = self._log.begin_sync()
                if job is not None:
                    await self._workers.run(job.run)
                    self._log.finish_sync(job)
                self._synced_end = end_offset
                high_watermark = raft.on_synced(end_offset, self._clock.monotonic_ms()).high_watermark
                if high_watermark is not None:
                    await self._deliver(high_watermark)
        except Exception as error:
            self._fail(error)
        finally:
            self._syncing = None

    async def _deliver(self, high_watermark: int) -> None:
        self._log.commit(high_watermark)
        waiting = self._uncommitted
        while waiting and waiting[0].batch.header.last_offset < high_watermark:
            batch = waiting[0].batch
            header = batch.header
            if not header.is_control:
                is_long = header.record_count > LONG_BATCH_RECORDS
                values = await self._workers.run(partial(_values, batch)) if is_long else _values(batch)
                taken_in = self._listener.on_commit(header.base_offset, header.leader_epoch, values)
                if taken_in is not None:
                    await taken_in
            committed = waiting.popleft().committed
            self._applied = SnapshotId(header.next_offset, header.leader_epoch)
            self._applied_timestamp = header.max_timestamp
            self._bytes_since_snapshot += header.size
            if committed is not None and not committed.done():
                committed.set_result(header.last_offset)
        if self._bytes_since_snapshot >= self._snapshot_interval_bytes and self._snapshotting is None:
            self._snapshotting = asyncio.get_running_loop().create_task(self._write_snapshot())
            self._snapshotting.add_done_callback(_report)

    def _fail(self, error: Exception) -> None:
        self._stopped = KafkaStorageError(f"the metadata log in {self._directory} failed: {error}")
        self._stopped.__cause__ = error
        for entry in self._uncommitted:
            if entry.committed is not None and not entry.committed.done():
                entry.committed.set_exception(self._stopped)
        self._uncommitted.clear()
        self._on_failure(self._stopped)

    async def _write_snapshot(self) -> SnapshotId | None:
        try:
            records = self._listener.snapshot()
            if records is None:
                return None
            snapshot_id = self._applied
            self._bytes_since_snapshot = 0
            pieces = []
            for piece in encode_snapshot(
                records,
                epoch=snapshot_id.epoch,
                voters=self.voters,
                last_timestamp=self._applied_timestamp,
                now_ms=self._clock.now_ms(),
            ):
                pieces.append(piece)
                await asyncio.sleep(0)  # let other tasks run between two batches
            content = b"".join(pieces)
            await self._workers.run(lambda: self._files.write_snapshot(snapshot_id, content))
            if self._view is not None:
                self._view.on_snapshot(snapshot_id, len(content))
            self._log.delete_prefix(snapshot_id.end_offset)
            await self._workers.run(lambda: self._files.remove_snapshots_before(snapshot_id))
            return snapshot_id
        finally:
            self._snapshotting = None


def _values(batch: Batch) -> list[bytes]:
    return [record.value or b"" for record in decode_records(batch, max_bytes=DECOMPRESSED_BYTES_MAX)]


def _batches_from(log: MetadataLog, offset: int) -> Iterator[Batch]:
    while offset < log.end_offset:
        data = log.read(offset, _READ_BYTES)
        if not data:
            raise KafkaStorageError(f"the metadata log has no record at offset {offset}, and ends at {log.end_offset}")
        for batch in split_batches(data):
            if batch.header.base_offset >= offset:
                yield batch
                offset = batch.header.next_offset


def _report(task: asyncio.Task[SnapshotId | None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _logger.error("the metadata snapshot failed; the log is kept until one succeeds", exc_info=task.exception())
