"""Sends a transaction's markers to its partitions until all are written, then completes the transaction.

Markers that are committed at once (those of this broker's own partitions) are written without a task, unless there are
very many. Failed ones are retried forever, with growing pauses: the outcome is decided, and readers of committed
records cannot pass the transaction in a partition until its marker is there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from barnabas.coordinator.held_requests import Pending
from barnabas.coordinator.ports import TransactionMarkers
from barnabas.coordinator.txn.completion import Completion
from barnabas.env import Clock, Timer
from barnabas.model import TopicPartition
from barnabas.wire.errors import (
    CoordinatorLoadInProgress,
    InvalidProducerEpoch,
    KafkaError,
    NotCoordinator,
    TransactionCoordinatorFenced,
)

logger = logging.getLogger(__name__)

WRITTEN_WITHOUT_PAUSE_MAX: Final = 100
"""About 30 us each: more would delay other clients."""
RETRY_MS_MIN: Final = 20
RETRY_MS_MAX: Final = 1_000

_Write = tuple[TopicPartition, Awaitable[None]]


class _Job:
    __slots__ = ("completion", "finished", "remaining", "retry_ms", "state_partition", "task", "timer")

    def __init__(self, state_partition: int, completion: Completion) -> None:
        self.state_partition = state_partition
        """The partition of __transaction_state."""
        self.completion = completion
        self.remaining = set(completion.partitions)
        self.retry_ms = RETRY_MS_MIN
        self.timer: Timer | None = None
        self.task: asyncio.Task[None] | None = None
        self.finished: asyncio.Future[None] | None = None
        """Created when a request waits for the completion."""


class MarkerSender:
    def __init__(
        self,
        markers: TransactionMarkers,
        clock: Clock,
        *,
        complete: Callable[[int, Completion], Pending[None] | None],
    ) -> None:
        """`complete` stores that all markers have been written."""
        self._markers = markers
        self._clock = clock
        self._complete = complete
        self._jobs: dict[tuple[int, str], _Job] = {}

    def send(self, state_partition: int, completion: Completion) -> None:
        job = self._jobs[state_partition, completion.transactional_id] = _Job(state_partition, completion)
        self._advance(job)

    async def wait(self, state_partition: int, transactional_id: str, timeout_ms: int) -> None:
        """Wait until the transaction is completed, or until the timeout."""
        job = self._jobs.get((state_partition, transactional_id))
        if job is None:
            return
        if job.finished is None:
            job.finished = asyncio.get_running_loop().create_future()
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def resume(_: object = None) -> None:
            if not waiting.done():
                waiting.set_result(None)

        job.finished.add_done_callback(resume)
        timer = self._clock.call_later(timeout_ms, resume)
        try:
            await waiting
        finally:
            timer.cancel()
            job.finished.remove_done_callback(resume)

    def forget(self, state_partition: int) -> None:
        """Stop sending: the partition is loaded again, here or by another coordinator."""
        for key in [key for key in self._jobs if key[0] == state_partition]:
            job = self._jobs[key]
            self._end(job)
            if job.timer is not None:
                job.timer.cancel()
            if job.task is not None:
                job.task.cancel()

    def _advance(self, job: _Job) -> None:
        """Send all remaining markers once, without waiting for those that take longer."""
        job.timer = None
        partitions = list(job.remaining)
        rest = partitions[WRITTEN_WITHOUT_PAUSE_MAX:]
        pending = [
            (partition, written)
            for partition in partitions[:WRITTEN_WITHOUT_PAUSE_MAX]
            if (written := self._write(job, partition)) is not None
        ]
        if pending or rest:
            job.task = asyncio.ensure_future(self._continue(job, pending, rest))
        else:
            self._finish_round(job)

    async def _continue(self, job: _Job, pending: list[_Write], rest: Sequence[TopicPartition]) -> None:
        for count, partition in enumerate(rest):
            if count % WRITTEN_WITHOUT_PAUSE_MAX == 0:
                await asyncio.sleep(0)
            written = self._write(job, partition)
            if written is not None:
                pending.append((partition, written))
        for partition, written in pending:
            await self._settle(job, partition, written)
        job.task = None
        self._finish_round(job)

    def _write(self, job: _Job, partition: TopicPartition) -> Awaitable[None] | None:
        """None: there is nothing to wait for, because it succeeded or failed at once."""
        try:
            written = self._markers.write(partition, job.completion.marker)
        except KafkaError as error:
            self._failed(job, partition, error)
            return None
        if written is None:
            job.remaining.discard(partition)
        return written

    async def _settle(self, job: _Job, partition: TopicPartition, written: Awaitable[None]) -> None:
        try:
            await written
        except KafkaError as error:
            self._failed(job, partition, error)
        else:
            job.remaining.discard(partition)

    def _failed(self, job: _Job, partition: TopicPartition, error: KafkaError) -> None:
        transactional_id = job.completion.transactional_id
        if isinstance(error, InvalidProducerEpoch):
            # A later epoch writes only after this transaction was completed: the partition already has its marker.
            logger.info("%s already has the marker of %s: %s", partition, transactional_id, error)
            job.remaining.discard(partition)
        elif isinstance(error, TransactionCoordinatorFenced):
            logger.warning("another coordinator completes the transaction of %s: %s", transactional_id, error)
            self._end(job)
        else:
            logger.info("sending the marker of %s to %s failed and is retried: %s", transactional_id, partition, error)

    def _finish_round(self, job: _Job) -> None:
        if self._jobs.get((job.state_partition, job.completion.transactional_id)) is not job:
            return
        if job.remaining:
            self._retry(job)
            return
        try:
            completed = self._complete(job.state_partition, job.completion)
        except KafkaError as error:
            self._not_completed(job, error)
            return
        if completed is None:
            self._end(job)
        else:
            job.task = asyncio.ensure_future(self._await_completed(job, completed))

    async def _await_completed(self, job: _Job, completed: Pending[None]) -> None:
        try:
            await completed
        except KafkaError as error:
            job.task = None
            self._not_completed(job, error)
        else:
            self._end(job)

    def _not_completed(self, job: _Job, error: KafkaError) -> None:
        if isinstance(error, NotCoordinator | CoordinatorLoadInProgress):
            self._end(job)  # the coordinator that loads the partition continues
        else:
            logger.warning("completing a transaction of %s is retried: %s", job.completion.transactional_id, error)
            self._retry(job)

    def _retry(self, job: _Job) -> None:
        job.timer = self._clock.call_later(job.retry_ms, lambda: self._advance(job))
        job.retry_ms = min(job.retry_ms * 2, RETRY_MS_MAX)

    def _end(self, job: _Job) -> None:
        key = (job.state_partition, job.completion.transactional_id)
        if self._jobs.get(key) is job:
            del self._jobs[key]
        if job.finished is not None and not job.finished.done():
            job.finished.set_result(None)
