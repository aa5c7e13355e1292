"""Runs log compaction: one log at a time, in a helper process; cleaned segments are swapped in here.

Compaction in the broker's process would block its loop. If the helper process crashes, nothing is lost;
`log.compaction` describes the steps and why they are safe. Compaction runs in this process on a simulated disk, which
another process cannot see, and in tests that want everything on the loop.
"""

import asyncio
import logging
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable

from barnabas.env import Clock, Disk, RealDisk, Workers
from barnabas.log.compaction import CleanerSettings, Compaction, CompactionAborted, Compactor
from barnabas.log.compaction_core import compact
from barnabas.log.compaction_job import CleanedGroup
from barnabas.log.log_store import LogStore
from barnabas.metadata.configs import BrokerConfigs
from barnabas.wire.errors import KafkaError

logger = logging.getLogger(__name__)


class Cleaner:
    def __init__(
        self, store: LogStore, *, disk: Disk, clock: Clock, workers: Workers, configs: Callable[[], BrokerConfigs]
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._workers = workers
        self._configs = configs
        self._compactor = Compactor(disk, store, cleaner_settings(configs()))
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Call it before the logs are closed: segments cannot be swapped into a closed log."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            self._compactor.settings = cleaner_settings(self._configs())
            await self._clock.sleep_ms(self._compactor.settings.backoff_ms)
            try:
                while self._compactor.settings.enable and await self.clean_dirtiest():
                    pass
            except (KafkaError, OSError) as error:
                logger.warning("compaction failed and will be retried: %s", error)
            except Exception:
                logger.exception("compaction failed: this is a defect of Barnabas")

    async def clean_dirtiest(self) -> bool:
        """Clean one log; False if none is dirty enough."""
        compaction = self._compactor.begin(self._clock.now_ms())
        if compaction is None:
            return False
        try:
            if isinstance(self._disk, RealDisk) and not self._workers.is_inline:
                await self._clean(compaction)
            else:
                await self._clean_in_process(compaction)
        except (CompactionAborted, KafkaError) as error:
            logger.warning("%s", error)
        await self._workers.run(compaction.sync_and_clean_up)
        self._compactor.finish(compaction, self._clock.now_ms())
        return True

    async def _clean(self, compaction: Compaction) -> None:
        process = await asyncio.create_subprocess_exec(*compaction.command, stdin=PIPE, stdout=PIPE)
        try:
            await self._talk_to(process, compaction)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

    async def _clean_in_process(self, compaction: Compaction) -> None:
        try:
            for step in compact(compaction.job, self._disk):
                if isinstance(step, CleanedGroup):
                    compaction.swap_in(step, self._clock.now_ms())
                else:
                    compaction.finished = step
                await asyncio.sleep(0)
        except OSError as error:
            raise CompactionAborted(f"compacting {compaction.topic_partition} failed: {error}") from error

    async def _talk_to(self, process: Process, compaction: Compaction) -> None:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the worker has no pipes")
        process.stdin.write(compaction.input)
        process.stdin.close()
        async for line in process.stdout:
            compaction.handle(line, self._clock.now_ms())


def cleaner_settings(configs: BrokerConfigs) -> CleanerSettings:
    bytes_per_second = configs.number("log.cleaner.io.max.bytes.per.second")
    return CleanerSettings(
        enable=configs.boolean("log.cleaner.enable"),
        backoff_ms=configs.integer("log.cleaner.backoff.ms"),
        dedupe_buffer_bytes=configs.integer("log.cleaner.dedupe.buffer.size"),
        io_bytes_per_second=bytes_per_second if bytes_per_second < 1e300 else None,
    )
