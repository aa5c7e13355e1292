"""One partition on this broker: its log, its leadership, and the requests that wait for it.

There is one replica, so a record is committed as soon as the leader has it. With `flush.messages=1` that means synced:
the high watermark follows the synced records, and neither acknowledgements nor consumers are ahead of the disk.

The log is synced after `flush.messages` records, `flush.ms` after the first unsynced record, when a segment is sealed
(as in Kafka: so after a crash little more than the active segment is scanned), and after a crash, when the log is
opened. Nothing polls, so an idle broker does nothing. A sync that failed because the disk is full is retried shortly.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from barnabas.env import Clock, Timer, Workers
from barnabas.log.append_result import AppendResult
from barnabas.log.partition_log import PartitionLog
from barnabas.log.transactions import VerificationGuard
from barnabas.model import TopicPartition
from barnabas.records.admission import AdmissionRules
from barnabas.records.batch import Batch, BatchHeader
from barnabas.records.control import EndTransactionMarker, marker_batch
from barnabas.wire.errors import (
    FencedLeaderEpoch,
    KafkaError,
    NotLeaderOrFollower,
    RequestTimedOut,
    UnknownLeaderEpoch,
    UnknownTopicOrPartition,
)

logger = logging.getLogger(__name__)

# From this value of `flush.ms` on (its default is larger) there is no timer: the event loop has no timers that long.
FLUSH_MS_NEVER: Final = 1 << 62
FLUSH_RETRY_MS: Final = 1000


class Watcher(Protocol):
    """A fetch that waits for more bytes."""

    def appended(self, size: int) -> None: ...

    def wake(self) -> None:
        """Something else has changed: check again."""


class Partition:
    def __init__(
        self,
        topic_partition: TopicPartition,
        *,
        node_id: int,
        open_log: Callable[[], PartitionLog],
        clock: Clock,
        workers: Workers,
        leader: int,
        leader_epoch: int,
        admission_rules: AdmissionRules,
    ) -> None:
        self.topic_partition = topic_partition
        self.set_admission_rules(admission_rules)
        self.leader = leader
        self.leader_epoch = leader_epoch
        self._node_id = node_id
        self._open_log = open_log
        self._log: PartitionLog | None = None
        self._clock = clock
        self._workers = workers
        self._watchers: dict[Watcher, None] = {}
        """In the order in which they came: that of a set of objects differs from run to run."""
        self._committed_watchers: dict[Watcher, None] = {}
        """Waiting readers of committed records: they read up to the last stable offset."""
        self._commit_waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._flushing: asyncio.Task[None] | None = None
        self._flush_timer: Timer | None = None
        self._active_base_offset = 0
        """Of the active segment at the last sync."""
        self._synced_to = 0
        """The base offset of a batch; everything before it is synced."""
        self._is_gone = False

    def set_admission_rules(self, rules: AdmissionRules) -> None:
        self.admission_rules = rules
        self.appends_batches_unchanged = rules.appends_batches_unchanged

    @property
    def log(self) -> PartitionLog:
        """Opened on first use, so that a broker with ten thousand partitions starts as fast as one with ten."""
        if self._log is None:
            if self._is_gone:
                raise UnknownTopicOrPartition(f"{self.topic_partition} was deleted")
            self._log = log = self._open_log()
            self._active_base_offset = log.segments.active.base_offset
            # After a crash the recovery point may lie within a batch, until everything is synced again.
            recovery_point = log.flush_state.recovery_point
            self._synced_to = log.high_watermark if recovery_point < log.log_end_offset else recovery_point
            self._advance_high_watermark(log)
            if recovery_point < log.log_end_offset:
                self._start_flush(log)
        return self._log

    @property
    def opened_log(self) -> PartitionLog | None:
        return self._log

    @property
    def is_removed(self) -> bool:
        return self._is_gone

    def switch_log(self, log: PartitionLog) -> None:
        """Use a copy of the log in another directory. Not all of it may be synced yet."""
        self._log = log
        self._synced_to = log.flush_state.recovery_point
        self._disarm_flush_timer()
        self._start_flush(log)  # unless a sync of the old directory is running: that starts this one when it ends

    async def synced(self) -> bool:
        """Wait for a running sync; False if there is none."""
        flushing = self._flushing
        if flushing is None:
            return False
        await asyncio.wait([flushing])
        return True

    # --- leadership

    def lead(self, *, leader: int, leader_epoch: int) -> None:
        """Set the leader and the epoch from the cluster metadata, and wake waiting requests."""
        if (leader, leader_epoch) != (self.leader, self.leader_epoch):
            self.leader, self.leader_epoch = leader, leader_epoch
            self.wake_all(NotLeaderOrFollower())

    def check_leader(self, client_epoch: int = -1) -> None:
        """A client with an older epoch must refresh its metadata; one with a newer epoch must wait for ours."""
        if self.leader != self._node_id:
            raise NotLeaderOrFollower(f"the leader of {self.topic_partition} is {self.leader}")
        if client_epoch >= 0 and client_epoch != self.leader_epoch:
            if client_epoch < self.leader_epoch:
                raise FencedLeaderEpoch(f"epoch {client_epoch} is older than {self.leader_epoch}; refresh the metadata")
            raise UnknownLeaderEpoch(f"epoch {client_epoch} is newer than {self.leader_epoch}; try again")

    # --- writing

    def append(self, batches: Sequence[Batch], *, now_ms: int, guard: VerificationGuard | None = None) -> AppendResult:
        """The batches are written when this returns, and committed when `high_watermark` has passed them.

        A batch that opens a transaction needs a `guard` from `begin_verification`, after which the transaction
        coordinator was asked. Raises InvalidTxnState without one.
        """
        self.check_leader()
        log = self.log
        end_before = log.log_end_offset
        appended = log.append(batches, leader_epoch=self.leader_epoch, now_ms=now_ms, guard=guard)
        if log.log_end_offset != end_before:
            self._after_append(log, sum([len(batch.data) for batch in batches]))
        return appended

    def append_in_place(self, header: BatchHeader, batch: memoryview, now_ms: int) -> int:
        """Like `append`, for one ordinary batch that may be changed in place. It is committed when this returns.

        Returns its base offset, or -1 if nothing was done, because the batch is not ordinary (see
        `PartitionLog.append_in_place`) or cannot be committed at once.
        """
        log = self._log
        if log is None or batch.readonly or self.leader != self._node_id or log.settings.flush_messages <= 1:
            return -1
        base_offset = log.log_end_offset
        if not log.append_in_place(header, batch, self.leader_epoch, now_ms):
            return -1
        self._after_append(log, len(batch))
        return base_offset

    # --- transactions

    @property
    def last_stable_offset(self) -> int:
        return self.log.last_stable_offset

    def begin_verification(
        self, producer_id: int, epoch: int, base_sequence: int, *, supports_epoch_bump: bool = True
    ) -> VerificationGuard | None:
        """Begin to verify that the partition is part of the producer's transaction; None: it is open here already.

        `supports_epoch_bump`: the client supports transaction.version 2, where the broker adds the partition and every
        transaction begins with sequence 0. Raises InvalidProducerEpoch if a newer epoch wrote here.
        """
        self.check_leader()
        return self.log.producers.begin_verification(
            producer_id, epoch, base_sequence, supports_epoch_bump=supports_epoch_bump, now_ms=self._clock.now_ms()
        )

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        commit: bool,
        now_ms: int,
        transaction_version: int,
    ) -> AppendResult:
        """End a producer's transaction with a control batch; committed when `high_watermark` has passed it.

        Raises InvalidProducerEpoch or TransactionCoordinatorFenced if a newer producer or coordinator wrote here.
        """
        self.check_leader()
        marker = EndTransactionMarker(commit, coordinator_epoch)
        batch = marker_batch(
            marker,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            now_ms=now_ms,
            log_append_time=self.admission_rules.log_append_time,
        )
        log = self.log
        appended = log.append_marker(
            batch, marker, leader_epoch=self.leader_epoch, now_ms=now_ms, transaction_version=transaction_version
        )
        self._after_append(log, len(batch.data))
        for watcher in tuple(self._committed_watchers):
            watcher.wake()  # the records of the transaction can be read now, not only the marker
        return appended

    # --- after an append

    def _after_append(self, log: PartitionLog, size: int) -> None:
        settings = log.settings
        if (
            log.log_end_offset - log.flush_state.recovery_point >= settings.flush_messages
            or log.segments.active.base_offset != self._active_base_offset
        ):
            self._start_flush(log)
        elif self._flush_timer is None and settings.flush_ms < FLUSH_MS_NEVER:
            self._flush_later(log, settings.flush_ms)
        if self._commit_waiters or settings.flush_messages <= 1:
            self._advance_high_watermark(log)
        else:
            log.high_watermark = log.log_end_offset
        if self._watchers:
            for watcher in tuple(self._watchers):
                watcher.appended(size)
        if self._committed_watchers and log.last_stable_offset == log.high_watermark:
            for watcher in tuple(self._committed_watchers):
                watcher.appended(size)

    def is_committed(self, last_offset: int) -> bool:
        return last_offset < self.log.high_watermark

    def wait_committed(self, last_offset: int) -> "asyncio.Future[None]":
        """Ends when the record at `last_offset` is committed; fails if that can no longer happen here."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._commit_waiters.append((last_offset, waiter))
        return waiter

    def _advance_high_watermark(self, log: PartitionLog) -> None:
        committed = self._synced_to if log.settings.flush_messages <= 1 else log.log_end_offset
        if committed <= log.high_watermark:
            return
        log.high_watermark = committed
        if self._commit_waiters:
            waiting = []
            for last_offset, waiter in self._commit_waiters:
                if last_offset >= committed:
                    waiting.append((last_offset, waiter))
                elif not waiter.done():
                    waiter.set_result(None)
            self._commit_waiters = waiting

    # --- flushing: one fsync serves every append that came before it started

    def _start_flush(self, log: PartitionLog) -> None:
        if self._flushing is None and not self._is_gone:
            self._disarm_flush_timer()
            self._active_base_offset = log.segments.active.base_offset
            self._flushing = asyncio.ensure_future(self._flush_until_covered(log))

    def _flush_later(self, log: PartitionLog, delay_ms: int) -> None:
        def flush() -> None:
            self._flush_timer = None
            if self._flushing is None:
                self._start_flush(log)
            else:  # the running sync began before the record that this timer is for
                self._flush_later(log, delay_ms)

        self._flush_timer = self._clock.call_later(delay_ms, flush)

    def _disarm_flush_timer(self) -> None:
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None

    async def _flush_until_covered(self, log: PartitionLog) -> None:
        try:
            while (job := log.begin_flush()) is not None:
                await self._workers.run(job.run)
                if self._is_gone or log is not self._log:
                    return  # the log has moved: the result of this sync means nothing
                log.finish_flush(job)
                self._synced_to = log.flush_state.recovery_point
                self._advance_high_watermark(log)
                self.wake_watchers()
                if log.log_end_offset - log.flush_state.recovery_point < log.settings.flush_messages:
                    break
        except KafkaError as error:
            logger.warning("%s cannot be synced: %s", self.topic_partition, error)
            self.wake_all(error)
            if not (log.health.is_offline or self._is_gone):
                self._disarm_flush_timer()
                self._flush_later(log, FLUSH_RETRY_MS)
        finally:
            self._flushing = None
            if self._log is not None and self._log is not log:
                self._start_flush(self._log)

    # --- waiting for more

    def watch(self, watcher: Watcher, *, committed_only: bool = False) -> None:
        (self._committed_watchers if committed_only else self._watchers)[watcher] = None

    def unwatch(self, watcher: Watcher) -> None:
        self._watchers.pop(watcher, None)
        self._committed_watchers.pop(watcher, None)

    def wake_all(self, error: Exception) -> None:
        """The replica was removed or has another leader: fail all waiting requests."""
        waiters, self._commit_waiters = self._commit_waiters, []
        for _, waiter in waiters:
            if not waiter.done():
                waiter.set_exception(error)
        self.wake_watchers()

    def wake_watchers(self) -> None:
        for watcher in (*self._watchers, *self._committed_watchers):
            watcher.wake()

    def discard(self) -> None:
        """The replica and its log are removed from this broker."""
        self._is_gone = True
        self._log = None
        self._disarm_flush_timer()
        self.wake_all(UnknownTopicOrPartition(f"{self.topic_partition} was deleted"))

    async def settle(self) -> None:
        """Wait for a running sync, so that the log can be closed."""
        if self._flushing is not None:
            await asyncio.wait([self._flushing])
        self._disarm_flush_timer()


async def committed_within(waiter: "asyncio.Future[None]", timeout_ms: int, clock: Clock) -> None:
    """Wait for a commit. RequestTimedOut: the record is written, but not known to be committed."""

    def give_up() -> None:
        if not waiter.done():
            waiter.set_exception(RequestTimedOut(f"not committed within {timeout_ms} ms"))

    timer = clock.call_later(max(timeout_ms, 0), give_up)
    try:
        await waiter
    finally:
        timer.cancel()
