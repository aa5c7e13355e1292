"""Writes the checkpoints of the log directories: log start offsets, recovery points, high watermarks.

Written periodically, they save work after a crash. They are also written before DeleteRecords is answered, because the
log start offset is stored nowhere else. Writes run one at a time, and all callers that ask during one share the next.
"""

import asyncio
from typing import Final

from barnabas.env import Workers
from barnabas.log.log_store import LogStore

LOGS_AT_ONCE: Final = 500
"""Takes about a millisecond; requests are handled in between."""


class Checkpoints:
    def __init__(self, store: LogStore, workers: Workers) -> None:
        self._store = store
        self._workers = workers
        self._round: asyncio.Task[None] | None = None
        self._next_round: asyncio.Task[None] | None = None

    async def write(self) -> None:
        """Returns when the checkpoints are on disk. A cancelled caller does not cancel the write."""
        if self._next_round is None:
            self._next_round = asyncio.ensure_future(self._write_after(self._round))
        await asyncio.shield(self._next_round)

    async def _write_after(self, earlier: asyncio.Task[None] | None) -> None:
        if earlier is not None and not earlier.done():
            await asyncio.wait([earlier])
        self._round, self._next_round = self._next_round, None
        logs = self._store.opened()
        for first in range(0, len(logs), LOGS_AT_ONCE):
            if first:
                await asyncio.sleep(0)
            self._store.note_offsets(logs[first : first + LOGS_AT_ONCE])
        for directory, job in self._store.begin_checkpoint():
            await self._workers.run(job.run)
            directory.finish_checkpoint(job)

    async def finish(self) -> None:
        """Wait for writes in progress."""
        rounds = [each for each in (self._round, self._next_round) if each is not None and not each.done()]
        if rounds:
            await asyncio.wait(rounds)
