"""Periodic chores: retention, checkpoints, expiry of producer ids, removal of files.

Each runs at its own interval (Kafka's settings and defaults), one log at a time, with requests in between. If a chore
fails, the error is logged and the chore runs again after the next interval.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from barnabas.env import Clock, Workers
from barnabas.metadata.configs.effective import BrokerConfigs
from barnabas.replication.replicas import Replicas
from barnabas.wire.errors import KafkaError

logger = logging.getLogger(__name__)

# A setting of 0 ("remove files at once") must not keep the loop busy.
INTERVAL_MS_MIN: Final = 100


class Upkeep:
    def __init__(
        self, replicas: Replicas, *, clock: Clock, workers: Workers, configs: Callable[[], BrokerConfigs]
    ) -> None:
        self._replicas = replicas
        self._store = replicas.store
        self._clock = clock
        self._workers = workers
        self._configs = configs
        self._chores: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._every("log.retention.check.interval.ms", self.enforce_retention, first="log.initial.task.delay.ms")
        self._every("producer.id.expiration.check.interval.ms", self.expire_producers)
        self._every("log.flush.offset.checkpoint.interval.ms", self.checkpoint)
        self._every("log.segment.delete.delay.ms", self.remove_files)

    def _every(self, interval: str, chore: Callable[[], Awaitable[None]], *, first: str | None = None) -> None:
        self._chores.append(asyncio.ensure_future(self._repeat(interval, chore, first or interval)))

    async def _repeat(self, interval: str, chore: Callable[[], Awaitable[None]], wait: str) -> None:
        """`wait` is the config of the first delay, `interval` that of all later ones."""
        while True:
            interval_ms = max(self._configs().integer(wait), INTERVAL_MS_MIN)
            await self._clock.sleep_ms(interval_ms)
            wait = interval
            try:
                await chore()
            except (KafkaError, OSError) as error:
                logger.warning("%s failed and will be retried in %d ms: %s", chore.__name__, interval_ms, error)
            except Exception:
                logger.exception("%s failed: this is a defect of Barnabas", chore.__name__)

    async def enforce_retention(self) -> None:
        """For every log, including those that were not used since the start."""
        for partition in self._replicas:
            try:
                deleted = partition.log.delete_old_segments(self._clock.now_ms())
            except KafkaError as error:
                logger.warning("retention of %s: %s", partition.topic_partition, error)
                continue
            if deleted:
                logger.info("retention removed %d segments of %s", deleted, partition.topic_partition)
            await asyncio.sleep(0)

    async def expire_producers(self) -> None:
        for log in self._store.opened():
            log.producers.expire(self._clock.now_ms(), log.settings.producer_id_expiration_ms)

    async def checkpoint(self) -> None:
        await self._replicas.checkpoints.write()

    async def remove_files(self) -> None:
        """Remove files whose delay is over. Files that cannot be removed are found again at the next start."""
        for job in self._store.due_deletions():
            try:
                await self._workers.run(job.run)
            except OSError as error:
                logger.warning("cannot remove %s: %s", ", ".join(job.paths), error)

    async def stop(self) -> None:
        for chore in self._chores:
            chore.cancel()
        if self._chores:
            await asyncio.wait(self._chores)
        await self._replicas.checkpoints.finish()
