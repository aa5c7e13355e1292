"""Completes a transaction whose outcome is decided: writes its markers, then stores that it is complete.

It begins when Prepare is committed, or read at a start, and does not depend on the client that asked for it. Markers
that fail are written again until all partitions have one: readers of committed records cannot pass the transaction
before. A second marker does no harm. On one node nothing has to be waited for, so that the transaction is complete when
its EndTxn is answered.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from barnabas.coordinator.core.ports import TransactionMarkers
from barnabas.coordinator.held_requests import Pending
from barnabas.coordinator.txn.completion import Completion
from barnabas.env import Clock
from barnabas.env.eager import start_eagerly
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

_Key = tuple[int, str]
"""The partition of __transaction_state, and the transactional id."""


class TransactionCompletion:
    def __init__(
        self,
        markers: TransactionMarkers,
        clock: Clock,
        store_complete: Callable[[int, Completion], Pending[None] | None],
    ) -> None:
        self._markers = markers
        self._clock = clock
        self._store_complete = store_complete
        self._unfinished: dict[_Key, asyncio.Task[None]] = {}

    def start(self, state_partition: int, completion: Completion) -> None:
        task = start_eagerly(self._complete(state_partition, completion))
        if task is not None:
            key = (state_partition, completion.transactional_id)
            self._unfinished[key] = task
            task.add_done_callback(partial(self._finished, key))

    async def _complete(self, state_partition: int, completion: Completion) -> None:
        transactional_id, unmarked = completion.transactional_id, set(completion.partitions)
        retry_ms = RETRY_MS_MIN
        while True:
            try:
                await self._write_markers(completion, unmarked)
                if not unmarked:
                    stored = self._store_complete(state_partition, completion)
                    if stored is not None:
                        await stored
                    return
            except (TransactionCoordinatorFenced, NotCoordinator, CoordinatorLoadInProgress) as error:
                logger.info(
                    "another coordinator completes the transaction of %s: %s", completion.transactional_id, error
                )
                return
            except KafkaError as error:
                logger.warning("completing the transaction of %s is retried: %s", transactional_id, error)
            await self._clock.sleep_ms(retry_ms)
            retry_ms = min(retry_ms * 2, RETRY_MS_MAX)

    async def _write_markers(self, completion: Completion, unmarked: set[TopicPartition]) -> None:
        """One attempt for each partition, all at a time. Those that have their marker leave the set."""
        waiting: dict[TopicPartition, Awaitable[None]] = {}
        failed: dict[TopicPartition, KafkaError] = {}
        for count, partition in enumerate(sorted(unmarked)):
            if count and count % WRITTEN_WITHOUT_PAUSE_MAX == 0:
                await asyncio.sleep(0)
            try:
                written = self._markers.write(partition, completion.marker)
            except KafkaError as error:
                failed[partition] = error
            else:
                if written is None:
                    unmarked.discard(partition)
                else:
                    waiting[partition] = written
        for partition, written in waiting.items():
            try:
                await written
            except KafkaError as error:
                failed[partition] = error
            else:
                unmarked.discard(partition)
        for partition, refusal in failed.items():
            if isinstance(refusal, InvalidProducerEpoch):
                # A later epoch writes only after this transaction was completed: the partition already has its marker.
                unmarked.discard(partition)
            elif isinstance(refusal, TransactionCoordinatorFenced):
                raise refusal
            logger.info("the marker of %s for %s: %s", completion.transactional_id, partition, refusal)

    def _finished(self, key: _Key, task: "asyncio.Task[None]") -> None:
        if self._unfinished.get(key) is task:  # the next transaction of the same id may have replaced it
            del self._unfinished[key]

    async def wait(self, state_partition: int, transactional_id: str, timeout_ms: int) -> None:
        """Wait until the transaction is complete, or until the timeout."""
        task = self._unfinished.get((state_partition, transactional_id))
        if task is None:
            return
        over = asyncio.Event()

        def resume(_: object = None) -> None:
            over.set()

        task.add_done_callback(resume)
        timer = self._clock.call_later(timeout_ms, resume)
        try:
            await over.wait()
        finally:
            timer.cancel()
            task.remove_done_callback(resume)

    def forget(self, state_partition: int) -> None:
        """Stop: the partition is loaded again, here or by another coordinator, which completes its transactions."""
        for key in [key for key in self._unfinished if key[0] == state_partition]:
            self._unfinished.pop(key).cancel()
