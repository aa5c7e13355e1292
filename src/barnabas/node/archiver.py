"""Keeps an archiver running for the topics that want a history (`barnabas.archive.enable`).

It is a process of its own and a client like any other (`barnabas archive run --follow`): it needs pyarrow and the CPU,
the broker needs neither. If it ends, it is started again, a little later each time. What it has not finished it reads
again: the manifest says from where.
"""

import asyncio
import logging
import os
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from barnabas.env import Clock
from barnabas.metadata.configs import TopicSettings
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import TOPIC, ClusterImage

logger = logging.getLogger(__name__)

BACKOFF_MS_MIN: Final = 1_000
BACKOFF_MS_MAX: Final = 60_000
STOP_SECONDS_MAX: Final = 10.0
"""For which a stopping broker waits while the archiver writes down what it has read."""


class Archiver:
    def __init__(
        self,
        folder: str,
        address: str,
        *,
        clock: Clock,
        settings_of: Callable[[str], TopicSettings],
        command: Sequence[str] | None = None,
    ) -> None:
        """`address`: of this broker, as a client on this machine reaches it. `command`: another program, for tests."""
        self._folder = folder
        self._address = address
        self._clock = clock
        self._settings_of = settings_of
        self._command = command or (sys.executable, "-m", "barnabas", "archive", "run")
        self._topics: frozenset[str] = frozenset()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def apply(self, image: ClusterImage, delta: Delta) -> None:
        # No topic wants it by default, so those without configs of their own need no look.
        named = (name for kind, name in image.configs.by_resource if kind == TOPIC)
        topics = frozenset(name for name in named if self._settings_of(name).barnabas_archive_enable)
        if topics != self._topics:
            self._topics = topics
            self._changed.set()

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """While connections are still served: the archiver finishes its files."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        backoff_ms = BACKOFF_MS_MIN
        while True:
            self._changed.clear()
            if not self._topics:
                await self._changed.wait()
                continue
            began_ms = self._clock.now_ms()
            status = await self._follow(sorted(self._topics))
            if status is None:
                backoff_ms = BACKOFF_MS_MIN
                continue
            if self._clock.now_ms() - began_ms > BACKOFF_MS_MAX:
                backoff_ms = BACKOFF_MS_MIN
            logger.warning(
                "the archiver of %s ended with status %s and starts again in %d s; its own words stand above",
                ", ".join(sorted(self._topics)),
                status,
                backoff_ms // 1000,
            )
            await self._rest(backoff_ms)
            backoff_ms = min(2 * backoff_ms, BACKOFF_MS_MAX)

    async def _follow(self, topics: Sequence[str]) -> int | None:
        """Run an archiver until it ends: its status; or until other topics want a history: None."""
        named = [word for topic in topics for word in ("--topic", topic)]
        where = ["--to", self._folder, "--bootstrap-server", self._address, "--while-parent", str(os.getpid())]
        process = await asyncio.create_subprocess_exec(
            *self._command, "--follow", *where, *named, stdin=DEVNULL, stdout=DEVNULL
        )
        ended = asyncio.ensure_future(process.wait())
        changed = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait([ended, changed], return_when=asyncio.FIRST_COMPLETED)
            return ended.result() if ended.done() else None
        finally:
            changed.cancel()
            await _end(process)
            await ended

    async def _rest(self, delay_ms: int) -> None:
        """Until the time is over, or something has changed."""
        over = self._clock.call_later(delay_ms, self._changed.set)
        try:
            await self._changed.wait()
        finally:
            over.cancel()


async def _end(process: Process) -> None:
    """Asked first. Cancelled meanwhile, or after a while, it is ended: nothing is lost but work."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS_MAX)
    except TimeoutError:
        logger.warning("the archiver did not stop in %d s and is killed", STOP_SECONDS_MAX)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
