"""Loads and unloads a coordinator's partitions as this broker becomes or stops being their leader.

The coordinator is created when it is first needed: a broker without groups or transactions starts without it. Loading
reads whole partitions, so it begins when the broker takes connections, one partition after another. Requests that
arrive meanwhile wait, and the partitions they need are loaded first. If the disk cannot be read, loading is retried.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Final, Generic, Protocol, TypeVar

from barnabas.env import Clock
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import ClusterImage
from barnabas.wire.errors import KafkaError, KafkaStorageError

logger = logging.getLogger(__name__)

RETRY_MS_MIN: Final = 1_000
RETRY_MS_MAX: Final = 60_000


class Coordinator(Protocol):
    partition_count: int
    """Of its topic. Set once the topic exists, and not changed while partitions are loaded."""

    def expect(self, partition: int) -> None: ...

    def has_held_requests(self, partition: int) -> bool: ...

    async def load(self, partition: int, leader_epoch: int) -> None: ...

    def unload(self, partition: int) -> None: ...


C = TypeVar("C", bound=Coordinator)


class CoordinatorPartitions(Generic[C]):
    def __init__(
        self,
        topic: str,
        make_coordinator: Callable[[], C],
        *,
        node_id: int,
        clock: Clock,
        on_change: Callable[[C, ClusterImage, Delta], Awaitable[None] | None] | None = None,
    ) -> None:
        """`on_change` is called with every change of the cluster while this broker coordinates a partition."""
        self._topic = topic
        self._make_coordinator = make_coordinator
        self._on_change = on_change
        self._clock = clock
        self._retry_ms = RETRY_MS_MIN
        self._node_id = node_id
        self._partition_count = 0
        self._epochs: dict[int, int] = {}
        """The leader epoch of each partition that is loaded, or waits for it."""
        self._to_load: list[int] = []
        self._serving = False
        self._loading: asyncio.Task[None] | None = None
        self._changing: set[asyncio.Future[None]] = set()

    @cached_property
    def coordinator(self) -> C:
        coordinator = self._make_coordinator()
        if self._partition_count:
            coordinator.partition_count = self._partition_count
        return coordinator

    @property
    def coordinator_if_made(self) -> C | None:
        return self.__dict__.get("coordinator")

    def serve(self) -> None:
        """The broker takes connections: start loading."""
        self._serving = True
        self._start_loading()

    def apply(self, image: ClusterImage, delta: Delta) -> None:
        topic = image.topics.by_name.get(self._topic)
        partitions = {} if topic is None else topic.partitions
        if len(partitions) != self._partition_count:
            self._partition_count = len(partitions)
            if partitions and (made := self.coordinator_if_made) is not None:
                made.partition_count = len(partitions)
        for index in [index for index in self._epochs if index not in partitions]:
            self._unload(index)
        for index, partition in partitions.items():
            if partition.leader != self._node_id:
                self._unload(index)
            elif self._epochs.get(index) != partition.leader_epoch:
                self._epochs[index] = partition.leader_epoch
                self._to_load.append(index)
        self._start_loading()
        if self._on_change is not None and self._epochs and (made := self.coordinator_if_made) is not None:
            change = self._on_change(made, image, delta)
            if change is not None:
                task = asyncio.ensure_future(change)
                self._changing.add(task)
                task.add_done_callback(self._changing.discard)

    def _start_loading(self) -> None:
        if not self._serving:
            return
        for index in self._to_load:
            self.coordinator.expect(index)
        if self._to_load and self._loading is None:
            self._loading = asyncio.ensure_future(self._load())

    def _unload(self, index: int) -> None:
        if self._epochs.pop(index, None) is not None and (made := self.coordinator_if_made) is not None:
            made.unload(index)

    async def _load(self) -> None:
        try:
            while self._to_load:
                index = self._take_next()
                if index not in self._epochs:
                    continue  # another broker leads it now
                try:
                    await self.coordinator.load(index, self._epochs[index])
                    self._retry_ms = RETRY_MS_MIN
                except KafkaStorageError as error:  # the disk is full, or offline
                    logger.warning("loading %s-%d is retried: %s", self._topic, index, error)
                    self._load_later(index)
                except KafkaError as error:
                    logger.warning(
                        "%s-%d cannot be loaded, and nothing that is stored there can be used: %s. "
                        "Restore the data directory from a backup",
                        self._topic,
                        index,
                        error,
                    )
                await asyncio.sleep(0)
        finally:
            self._loading = None

    def _take_next(self) -> int:
        awaited = (index for index in self._to_load if self.coordinator.has_held_requests(index))
        index = next(awaited, self._to_load[0])
        self._to_load.remove(index)
        return index

    def _load_later(self, index: int) -> None:
        def load() -> None:
            if index in self._epochs and index not in self._to_load:
                self._to_load.append(index)
                self._start_loading()

        self.coordinator.expect(index)
        self._clock.call_later(self._retry_ms, load)
        self._retry_ms = min(self._retry_ms * 2, RETRY_MS_MAX)

    async def stop(self) -> None:
        """Stop loading, and unload all partitions; waiting requests get NOT_COORDINATOR."""
        self._serving = False  # later changes of the metadata must not load anything
        pending: list[asyncio.Future[None]] = [*self._changing]
        if self._loading is not None:
            self._loading.cancel()
            pending.append(self._loading)
        if pending:
            await asyncio.wait(pending)
        for index in list(self._epochs):
            self._unload(index)
