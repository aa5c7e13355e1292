"""Keeps the group coordinator in step with the partitions of __consumer_offsets that this broker leads.

The coordinator is made when there is something for it to coordinate: a broker without groups starts without it. Loading
reads whole partitions, so it begins once the broker serves, one partition after another. A client that asks for a group
meanwhile is told to try again shortly. Where the disk did not let it be read, that is tried again too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from barnabas.env import Clock
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import ClusterImage
from barnabas.node.topic_maker import OFFSETS_TOPIC
from barnabas.wire.errors import KafkaError, KafkaStorageError

if TYPE_CHECKING:
    from barnabas.coordinator.group.coordinator import GroupCoordinator

logger = logging.getLogger(__name__)

RETRY_MS_MIN: Final = 1_000
RETRY_MS_MAX: Final = 60_000


class GroupPartitions:
    def __init__(self, make_coordinator: Callable[[], GroupCoordinator], node_id: int, clock: Clock) -> None:
        self._make_coordinator = make_coordinator
        self._clock = clock
        self._retry_ms = RETRY_MS_MIN
        self._node_id = node_id
        self._partition_count = 0
        self._epochs: dict[int, int] = {}
        """Leader epoch of each partition that is loaded or to be loaded."""
        self._to_load: list[int] = []
        self._serving = False
        self._loading: asyncio.Task[None] | None = None
        self._forgetting: set[asyncio.Task[None]] = set()

    @cached_property
    def groups(self) -> GroupCoordinator:
        groups = self._make_coordinator()
        if self._partition_count:
            groups.partition_count = self._partition_count
        return groups

    def serve(self) -> None:
        """The broker takes connections: load what there is."""
        self._serving = True
        self._start_loading()

    def apply(self, image: ClusterImage, delta: Delta) -> None:
        topic = image.topics.by_name.get(OFFSETS_TOPIC)
        partitions = {} if topic is None else topic.partitions
        if len(partitions) != self._partition_count:
            self._partition_count = len(partitions)
            if partitions and "groups" in self.__dict__:
                self.groups.partition_count = len(partitions)
        for index in [index for index in self._epochs if index not in partitions]:
            self._unload(index)
        for index, partition in partitions.items():
            if partition.leader != self._node_id:
                self._unload(index)
            elif self._epochs.get(index) != partition.leader_epoch:
                self._epochs[index] = partition.leader_epoch
                self._to_load.append(index)
        self._start_loading()
        deleted = {topic.name for topic in delta.topics_deleted.values()}
        if deleted and self._epochs:
            task = asyncio.ensure_future(self.groups.on_topics_deleted(deleted))
            self._forgetting.add(task)
            task.add_done_callback(self._forgetting.discard)

    def _start_loading(self) -> None:
        if not self._serving:
            return
        for index in self._to_load:
            self.groups.expect(index)
        if self._to_load and self._loading is None:
            self._loading = asyncio.ensure_future(self._load())

    def _unload(self, index: int) -> None:
        if self._epochs.pop(index, None) is not None:
            self.groups.unload(index)

    async def _load(self) -> None:
        try:
            while self._to_load:
                index = self._to_load.pop(0)
                if index not in self._epochs:
                    continue  # somebody else leads it by now
                try:
                    await self.groups.load(index)
                    self._retry_ms = RETRY_MS_MIN
                except KafkaStorageError as error:  # the disk is full, or offline
                    logger.warning("the groups of %s-%d are loaded later: %s", OFFSETS_TOPIC, index, error)
                    self._load_later(index)
                except KafkaError as error:
                    logger.warning("the groups of %s-%d cannot be loaded: %s", OFFSETS_TOPIC, index, error)
                await asyncio.sleep(0)
        finally:
            self._loading = None

    def _load_later(self, index: int) -> None:
        def load() -> None:
            if index in self._epochs and index not in self._to_load:
                self._to_load.append(index)
                self._start_loading()

        self.groups.expect(index)
        self._clock.call_later(self._retry_ms, load)
        self._retry_ms = min(self._retry_ms * 2, RETRY_MS_MAX)

    async def stop(self) -> None:
        """No more group changes its state; those who wait are told to look for another coordinator."""
        self._serving = False  # the broker's last word on the metadata log must not load anything again
        pending = [*self._forgetting]
        if self._loading is not None:
            self._loading.cancel()
            pending.append(self._loading)
        if pending:
            await asyncio.wait(pending)
        for index in list(self._epochs):
            self._unload(index)
