"""Moves partitions from one log directory to another (KIP-113), one at a time.

The partition can be written and read while it is copied; `log.future_log` explains how, and what a crash leaves behind.
A move that is interrupted by a stop or a crash starts again with the broker: the directory of the copy is the target.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from barnabas.env import Clock, Workers
from barnabas.log.future_log import FutureLog
from barnabas.log.log_directory import LogDirectory
from barnabas.log.partition_log import PartitionLog
from barnabas.log.segment import Segment
from barnabas.model import TopicPartition
from barnabas.replication.partition import Partition
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import KafkaError, KafkaStorageError

logger = logging.getLogger(__name__)

REST_BYTES: Final = 64 * 1024
"""The copy takes over when no more than this is left, which is copied without a pause."""
REST_GROWTH_MAX: Final = 16
"""If records arrive faster than they are copied, the limit grows with every round, up to this factor."""

NAP_MS: Final = 100

OnMoved = Callable[[TopicPartition, LogDirectory], Awaitable[None]]


class LogMoves:
    def __init__(
        self,
        replicas: Replicas,
        *,
        clock: Clock,
        workers: Workers,
        bytes_per_second: Callable[[], int],
        on_moved: OnMoved,
    ) -> None:
        """`bytes_per_second` is `replica.alter.log.dirs.io.max.bytes.per.second`; `on_moved` stores the result."""
        self._replicas = replicas
        self._store = replicas.store
        self._clock = clock
        self._workers = workers
        self._bytes_per_second = bytes_per_second
        self._on_moved = on_moved
        self._futures: dict[TopicPartition, FutureLog] = {}
        self._task: asyncio.Task[None] | None = None
        self._current: FutureLog | None = None
        self._is_taking_over = False
        self._is_stopping = False

    def __iter__(self) -> Iterator[FutureLog]:
        return iter(list(self._futures.values()))

    def move(self, topic_partition: TopicPartition, directory: LogDirectory) -> None:
        """Start moving the partition to `directory`. Its current directory cancels a move."""
        partition = self._replicas.get(*topic_partition)
        directory.health.check()
        current = self._store.directory_of(partition.log.topic_partition)
        future = self._futures.get(topic_partition)
        if future is not None and future.directory is directory:
            return
        if future is not None:
            self._cancel(future)
        if current is not directory:
            future = self._store.begin_move(topic_partition, directory)
            try:
                future.begin()
            except OSError as error:
                raise directory.health.failure(error, f"making {future.path}") from error
            self._futures[topic_partition] = future
            if self._task is None:
                self._task = asyncio.ensure_future(self._work())

    def _cancel(self, future: FutureLog) -> None:
        """A running move notices by itself; a waiting one has only an empty directory."""
        del self._futures[future.topic_partition]
        if self._current is not future:
            future.discard()

    async def stop(self) -> None:
        """Interrupt the running move. Its directory stays, so that it starts again with the broker."""
        self._is_stopping = True
        if self._task is not None:
            if not self._is_taking_over:
                self._task.cancel()
            await asyncio.wait([self._task])

    async def _work(self) -> None:
        try:
            while self._futures and not self._is_stopping:
                self._current = future = next(iter(self._futures.values()))
                try:
                    await self._move(future)
                except (KafkaError, OSError) as error:
                    logger.warning(
                        "%s stays where it is, the move to %s failed: %s",
                        future.topic_partition,
                        future.directory.path,
                        error,
                    )
                except Exception:
                    logger.exception("moving %s failed: this is a defect of Barnabas", future.topic_partition)
                await self._workers.run(future.discard)
                if self._futures.get(future.topic_partition) is future:
                    del self._futures[future.topic_partition]
        finally:
            self._task = self._current = None

    async def _move(self, future: FutureLog) -> None:
        partition = self._replicas.get(*future.topic_partition)
        rounds = 0
        while self._is_wanted(future, partition):
            log = partition.log
            for segment in future.segments_to_copy(log):
                if not await self._copy(future, segment, partition):
                    break
            rounds += 1
            if not self._is_wanted(future, partition) or future.segments_to_copy(log):
                continue
            if log.segments.active.size <= REST_BYTES * min(rounds, REST_GROWTH_MAX):
                self._is_taking_over = True
                try:
                    await self._take_over(future, partition, log)
                finally:
                    self._is_taking_over = False
                return
            log.roll(self._clock.now_ms())
        logger.info("the move of %s to %s was cancelled", future.topic_partition, future.directory.path)

    def _is_wanted(self, future: FutureLog, partition: Partition) -> bool:
        return self._futures.get(future.topic_partition) is future and not partition.is_removed

    async def _copy(self, future: FutureLog, segment: Segment, partition: Partition) -> bool:
        """False if it was interrupted: the move was cancelled, or the segment was deleted."""
        try:
            for job in future.copy_jobs(segment):
                await self._workers.run(job.run)
                await self._throttle(job.size, future, partition)
                if not self._is_wanted(future, partition):
                    return False
        except FileNotFoundError:
            return False  # retention or the cleaner deleted it: the next round lists the segments again
        future.finish(segment)
        return True

    async def _throttle(self, size: int, future: FutureLog, partition: Partition) -> None:
        """Sleeps in short steps, because the rate may be raised, or the move cancelled, meanwhile."""
        slept_ms = 0.0
        while self._is_wanted(future, partition):
            left_ms = size * 1000 / max(self._bytes_per_second(), 1) - slept_ms
            if left_ms < 1:
                return
            nap_ms = min(left_ms, NAP_MS)
            await self._clock.sleep_ms(nap_ms)
            slept_ms += nap_ms

    async def _take_over(self, future: FutureLog, partition: Partition, old: PartitionLog) -> None:
        topic_partition = future.topic_partition
        new = future.take_over(old, self._clock.now_ms())
        self._store.finish_move(topic_partition, future.directory, new)
        partition.switch_log(new)
        del self._futures[topic_partition]
        logger.info("%s has moved to %s", topic_partition, future.directory.path)
        end_offset = new.log_end_offset
        while new.flush_state.recovery_point < end_offset:
            if not await partition.synced():
                raise KafkaStorageError(f"{new.directory} could not be synced; {old.directory} is kept")
        self._store.remove_later(old)
        await self._on_moved(topic_partition, future.directory)
