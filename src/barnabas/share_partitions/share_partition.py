"""One share-partition while this broker leads its partition: the core, with a log, a clock and a persister.

    LOADING  its state is being read, and retried while the share coordinator is not available
    ACTIVE   records are acquired and acknowledged
    FENCED   there is a new leader, its state was replaced, or the topic was deleted; a new object takes over

State is written one write at a time. Changes that arrive during a write are combined in the next one. So a slow disk
causes fewer and larger writes, and writes cannot overtake each other.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from barnabas.env import Clock, Timer
from barnabas.log.log_slice import LogSlice
from barnabas.model.share import START_OFFSET_UNKNOWN, SharePartitionKey, StateBatch, StateWrite
from barnabas.replication.partition import Partition
from barnabas.share_partitions.core.delivery import SharePartitionCore, Transition
from barnabas.share_partitions.core.eligibility import batches_with, find_ineligible
from barnabas.share_partitions.core.rules import BY_DURATION, EARLIEST, OffsetReset, ShareRules
from barnabas.share_partitions.core.terms import Acknowledgement, Acquired
from barnabas.share_partitions.ports import ShareWatcher, StatePersister
from barnabas.wire.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedLeaderEpoch,
    FencedStateEpoch,
    InvalidRequest,
    KafkaError,
    NotCoordinator,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    UnknownTopicOrPartition,
)

logger = logging.getLogger(__name__)

RETRY_MS_MIN: Final = 20
RETRY_MS_MAX: Final = 2_000
READ_BYTES_MAX: Final = 1 << 20
"""Read from one partition for one answer. How many records a member can take is known only after reading."""

_NOT_READY: Final = (NotCoordinator, CoordinatorNotAvailable, CoordinatorLoadInProgress)
_REPLACED: Final = (FencedLeaderEpoch, FencedStateEpoch, NotLeaderOrFollower, UnknownTopicOrPartition)


class Acquisition(NamedTuple):
    acquired: list[Acquired]
    records: bytes


class _PendingWrite(NamedTuple):
    transition: Transition | None
    """None: the state has changed already, and no request waits."""
    batches: list[StateBatch]
    written: "asyncio.Future[None]"


class SharePartition:
    def __init__(
        self,
        key: SharePartitionKey,
        partition: Partition,
        *,
        persister: StatePersister,
        clock: Clock,
        wait_clock: Clock,
        rules: Callable[[], ShareRules],
        on_fenced: Callable[["SharePartition"], None],
    ) -> None:
        """`clock` is for record locks, `wait_clock` for pauses between retries."""
        self.key = key
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.is_fenced = False
        self._persister = persister
        self._clock = clock
        self._wait_clock = wait_clock
        self._rules = rules
        self._on_fenced = on_fenced
        self._core: SharePartitionCore | None = None
        self._state_epoch = 0
        self._watchers: dict[ShareWatcher, None] = {}
        self._pending_writes: list[_PendingWrite] = []
        self._writing: asyncio.Task[None] | None = None
        self._lock_timer: Timer | None = None
        self._lock_timer_ms = 0
        self._load_error: KafkaError | None = None
        self._loading: asyncio.Task[None] | None = asyncio.ensure_future(self._load())

    # --- loading

    async def _load(self) -> None:
        retry_ms = RETRY_MS_MIN
        while not self.is_fenced:
            try:
                await self._read_state()
                break
            except _NOT_READY as error:
                logger.debug("loading %s is retried: %s", self.key, error)
                await self._pause(retry_ms)
                retry_ms = min(retry_ms * 2, RETRY_MS_MAX)
            except InvalidRequest as error:
                # The group does not read it: its offsets were deleted, or it is not initialised yet.
                self._load_error = UnknownTopicOrPartition(f"{self.key} has no state: {error}")
                self.fence()
            except KafkaError as error:
                logger.info("the state of %s cannot be read: %s", self.key, error)
                self._load_error = error
                self.fence()
            except Exception as error:
                logger.exception("the state of %s cannot be read: this is a defect of Barnabas", self.key)
                self._load_error = KafkaError(f"the state of {self.key} cannot be read: {error}")
                self.fence()
        self._loading = None
        self._wake()

    async def _read_state(self) -> None:
        state = await self._persister.read(self.key, leader_epoch=self.leader_epoch)
        start_offset = state.start_offset
        if start_offset == START_OFFSET_UNKNOWN:
            # Stored before the first record is delivered: after a crash the group must start at the same offset.
            start_offset = self._first_offset(self._rules().offset_reset)
            begin = StateWrite(state.state_epoch, self.leader_epoch, start_offset, 0, ())
            await self._persister.write(self.key, begin)
        self._state_epoch = state.state_epoch
        self._core = SharePartitionCore(start_offset, state.batches)

    def _first_offset(self, reset: OffsetReset) -> int:
        log = self.partition.log
        if reset == EARLIEST:
            return log.log_start_offset
        if reset.strategy == BY_DURATION:
            found = log.offset_for_timestamp(self._clock.now_ms() - reset.duration_ms)
            if found is not None:
                return min(found.offset, log.high_watermark)
        return log.high_watermark

    async def _pause(self, delay_ms: int) -> None:
        over = asyncio.Event()
        timer = self._wait_clock.call_later(delay_ms, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()

    def check(self) -> None:
        """Raises the KafkaError for clients if the share-partition cannot be used."""
        if self._load_error is not None:
            raise self._load_error
        if self.is_fenced:
            raise NotLeaderOrFollower(f"another broker leads {self.key}; refresh the metadata")
        self.partition.check_leader(self.leader_epoch)

    # --- acquiring

    def locate(self, max_bytes: int, *, at_least_one_batch: bool) -> LogSlice | None:
        """The position of the next records to acquire; None if there are none now."""
        core = self._core
        if core is None or self.is_fenced:
            return None
        log = self.partition.log
        core.on_log_start(log.log_start_offset)
        rules = self._rules()
        if not core.can_acquire(rules.limits):
            return None
        try:
            return log.locate(
                core.next_fetch_offset(),
                max_bytes=min(max_bytes, READ_BYTES_MAX),
                end_offset=log.last_stable_offset if rules.read_committed else log.high_watermark,
                at_least_one_batch=at_least_one_batch,
            )
        except OffsetOutOfRange as error:
            # The group has read further than the log now reaches: there is nothing to read until the log has grown.
            logger.debug("%s is ahead of the log: %s", self.key, error)
            return None

    def acquire(
        self, member: str, read_from: int, records: bytes, *, records_max: int, batch_size: int, exact: bool
    ) -> Acquisition:
        """Lock the available records among those that were read."""
        core = self._core
        if core is None or self.is_fenced:
            return Acquisition([], b"")
        rules = self._rules()
        log = self.partition.log
        aborted = (
            log.aborted_transactions(read_from, log.last_stable_offset) if rules.read_committed and records else ()
        )
        read = find_ineligible(records, aborted)
        acquired = core.acquire(
            member,
            read.data,
            fetch_offset=read_from,
            records_max=records_max,
            batch_size=batch_size,
            exact=exact,
            ineligible=read.ineligible,
            limits=rules.limits,
            now_ms=self._clock.monotonic_ms(),
        )
        self._arm()
        return Acquisition(acquired, batches_with(acquired, read.batches) if acquired else b"")

    @property
    def next_fetch_offset(self) -> int:
        return -1 if self._core is None else self._core.next_fetch_offset()

    # --- acknowledging

    async def acknowledge(self, member: str, acknowledgements: Sequence[Acknowledgement]) -> None:
        """Returns when it is stored."""
        self.check()
        if self._core is None:
            raise NotLeaderOrFollower(f"{self.key} is loading, so its records are not acquired; fetch again")
        transition = self._core.acknowledge(member, acknowledgements, self._rules().limits, self._clock.monotonic_ms())
        self._arm()
        await self._persist(transition)

    async def release(self, member: str) -> None:
        """The member's session has ended."""
        while self._core is not None and not self.is_fenced:
            transition = self._core.release(member, self._rules().limits)
            if not transition.batches:
                return
            await self._persist(transition)

    async def _persist(self, transition: Transition) -> None:
        if transition.batches:
            await asyncio.shield(self._write_soon(transition, transition.batches))

    # --- writing

    def _write_soon(self, transition: Transition | None, batches: list[StateBatch]) -> "asyncio.Future[None]":
        pending = _PendingWrite(transition, batches, asyncio.get_running_loop().create_future())
        self._pending_writes.append(pending)
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write())
        return pending.written

    async def _write(self) -> None:
        now: list[_PendingWrite] = []
        try:
            while self._pending_writes and self._core is not None:
                now, self._pending_writes = self._pending_writes, []
                error = await self._write_state(self._core, [batch for one in now for batch in one.batches])
                self._settle(self._core, now, error)
                if isinstance(error, _REPLACED):
                    self.fence()
        except Exception:
            logger.exception("the state of %s is loaded again: this is a defect of Barnabas", self.key)
            self.fence()
        finally:
            self._writing = None
            unanswered, self._pending_writes = [*now, *self._pending_writes], []
            for one in unanswered:
                if one.transition is not None and not one.written.done():
                    one.written.set_exception(NotLeaderOrFollower(f"{self.key} is loaded again; fetch again"))

    async def _write_state(self, core: SharePartitionCore, batches: list[StateBatch]) -> KafkaError | None:
        """Returns the error if it could not be written."""
        state = StateWrite(
            self._state_epoch, self.leader_epoch, core.start_offset, core.delivery_complete_count, tuple(batches)
        )
        try:
            await self._persister.write(self.key, state)
        except KafkaError as error:
            return error
        except Exception as error:
            logger.exception("the state of %s cannot be written: this is a defect of Barnabas", self.key)
            return KafkaError(f"the state of {self.key} cannot be written: {error}")
        return None

    def _settle(self, core: SharePartitionCore, written: list[_PendingWrite], error: KafkaError | None) -> None:
        for one in written:
            if one.transition is None:
                if error is not None:
                    logger.warning("timed out locks of %s were not stored: %s", self.key, error)
            elif error is None:
                core.commit(one.transition)
            else:
                core.roll_back(one.transition)
            if one.written.done():
                continue
            if error is None or one.transition is None:
                one.written.set_result(None)
            else:
                one.written.set_exception(_to_member_error(error))
        self._arm()
        self._wake()

    # --- lock timeouts

    def _arm(self) -> None:
        deadline_ms = None if self._core is None or self.is_fenced else self._core.next_lock_deadline_ms()
        if deadline_ms is None or (self._lock_timer is not None and self._lock_timer_ms <= deadline_ms):
            return
        if self._lock_timer is not None:
            self._lock_timer.cancel()
        self._lock_timer_ms = deadline_ms
        delay_ms = max(deadline_ms - self._clock.monotonic_ms(), 0)
        self._lock_timer = self._clock.call_later(delay_ms, self._on_lock_timer)

    def _on_lock_timer(self) -> None:
        self._lock_timer = None
        if self._core is None or self.is_fenced:
            return
        batches = self._core.expire(self._rules().limits, self._clock.monotonic_ms())
        if batches:
            self._write_soon(None, batches)
            self._wake()
        self._arm()

    # --- waiting

    def watch(self, watcher: ShareWatcher) -> None:
        self._watchers[watcher] = None

    def unwatch(self, watcher: ShareWatcher) -> None:
        self._watchers.pop(watcher, None)

    def _wake(self) -> None:
        for watcher in tuple(self._watchers):
            watcher.wake()

    def fence(self) -> None:
        """Stop: nothing is acquired or stored any more."""
        if self.is_fenced:
            return
        self.is_fenced = True
        if self._lock_timer is not None:
            self._lock_timer.cancel()
            self._lock_timer = None
        self._on_fenced(self)
        self._wake()

    async def settle(self) -> None:
        """Wait for the running write."""
        if self._loading is not None:
            self._loading.cancel()
        pending = [task for task in (self._loading, self._writing) if task is not None]
        if pending:
            await asyncio.wait(pending)


def _to_member_error(error: KafkaError) -> KafkaError:
    """Members do not know the share coordinator. To them a replaced state looks like a changed leader."""
    if isinstance(error, FencedLeaderEpoch | FencedStateEpoch):
        return NotLeaderOrFollower(str(error))
    if isinstance(error, _NOT_READY):
        return CoordinatorNotAvailable(str(error))
    return error
