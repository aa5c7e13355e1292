"""The share coordinator, called by leaders of share-partitions and by the handlers of the share state APIs.

A share-partition belongs to the partition of __share_group_state that its key's text hashes to. Every method is about
one share-partition and raises KafkaErrors; the handlers collect the results of several.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final

from barnabas.coordinator.core.key_hash import partition_of
from barnabas.coordinator.runtime import CoordinatorRuntime
from barnabas.coordinator.share.prunable_log import PrunableLog, StateTopicLog
from barnabas.coordinator.share.settings import ShareCoordinatorSettings
from barnabas.coordinator.share.shard import ShareShard, StateSummary
from barnabas.env import Clock, Timer
from barnabas.model.share import SharePartitionKey, StateRead, StateWrite
from barnabas.wire.errors import InvalidGroupId, KafkaError, NotCoordinator

logger = logging.getLogger(__name__)

GROUP_ID_BYTES_MAX: Final = 2**15 - 1
"""The longest that fits into a stored key. Requests can carry longer ones."""


class ShareCoordinator:
    def __init__(
        self,
        *,
        log: StateTopicLog,
        clock: Clock,
        settings: ShareCoordinatorSettings,
        partition_count: int,
        has_partition: Callable[[SharePartitionKey], bool],
    ) -> None:
        self.partition_count = partition_count
        """Of __share_group_state. Must not change once a partition is loaded: states would no longer be found."""
        self._clock = clock
        self._settings = settings
        self._log = PrunableLog(log)
        self._runtime = CoordinatorRuntime(
            log=self._log,
            clock=clock,
            new_shard=lambda _: ShareShard(settings, has_partition),
            commit_timeout_ms=settings.write_timeout_ms,
        )
        self._prune_timer: Timer | None = None
        self._pruning: asyncio.Task[None] | None = None

    def partition_for(self, key_text: str) -> int:
        return partition_of(key_text, self.partition_count)

    def _partition_of(self, key: SharePartitionKey) -> int:
        if len(key.group_id) * 4 > GROUP_ID_BYTES_MAX and len(key.group_id.encode()) > GROUP_ID_BYTES_MAX:
            raise InvalidGroupId(f"the group id has more than {GROUP_ID_BYTES_MAX} bytes")
        return self.partition_for(key.as_text())

    # --- partitions of the state topic that this broker leads

    def expect(self, partition: int) -> None:
        self._runtime.expect(partition)

    def has_held_requests(self, partition: int) -> bool:
        return self._runtime.has_held_requests(partition)

    async def load(self, partition: int, leader_epoch: int) -> None:
        if self._prune_timer is None:
            self._prune_later()
        await self._runtime.load(partition, leader_epoch)

    def unload(self, partition: int) -> None:
        self._runtime.unload(partition)
        self._log.forget(partition)
        if self._prune_timer is not None and not self._runtime.partitions():
            self._prune_timer.cancel()
            self._prune_timer = None

    def _prune_later(self) -> None:
        def prune() -> None:
            self._pruning = asyncio.ensure_future(self.prune())
            self._prune_later()

        self._prune_timer = self._clock.call_later(self._settings.prune_interval_ms, prune)

    async def prune(self) -> None:
        """Delete the records that no share-partition needs any more."""
        for partition in self._runtime.partitions():
            try:
                await self._log.prune(partition)
            except KafkaError as error:
                logger.warning("partition %d of the share-group state is pruned later: %s", partition, error)

    # --- state of share-partitions

    async def initialize(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int) -> None:
        await self._runtime.write(
            self._partition_of(key),
            lambda shard, now: shard.initialize(key, state_epoch=state_epoch, start_offset=start_offset, now=now),
        )

    async def read(self, key: SharePartitionKey, *, leader_epoch: int) -> StateRead:
        return await self._runtime.write(
            self._partition_of(key), lambda shard, now: shard.read(key, leader_epoch=leader_epoch, now=now)
        )

    async def write(self, key: SharePartitionKey, write: StateWrite) -> None:
        await self._runtime.write(self._partition_of(key), lambda shard, now: shard.write(key, write, now))

    async def delete(self, key: SharePartitionKey) -> None:
        await self._runtime.write(self._partition_of(key), lambda shard, _: shard.delete(key))

    async def summary(self, key: SharePartitionKey) -> StateSummary:
        return await self._runtime.read(self._partition_of(key), lambda shard: shard.summary(key))

    async def on_topics_deleted(self, topic_ids: Collection[uuid.UUID]) -> None:
        for partition in self._runtime.active_partitions():  # a loading one keeps state that is never read
            with suppress(NotCoordinator):
                await self._runtime.write(partition, lambda shard, _: shard.on_topics_deleted(topic_ids))
