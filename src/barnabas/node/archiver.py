"""Keeps an archiver running for the topics with `barnabas.archive.enable`.

It is a separate process and an ordinary client (`barnabas archive run --follow`), because it needs pyarrow and CPU. If
it ends, it is restarted with increasing back-off. Unfinished work is read again from the position in the manifest.
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
"""How long a stopping broker waits for the archiver to write its files."""


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
        """`address`: this broker's address for clients on this machine. `command`: another program, for tests."""
        self._folder = folder
        self._address = address
        self._clock = clock
        self._settings_of = settings_of
        self._command = command or (sys.executable, "-m", "barnabas", "archive", "run")
        self._topics: frozenset[str] = frozenset()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def apply(self, image: ClusterImage, delta: Delta) -> None:
        # It is off by default, so only topics with configs of their own can have it on.
        named = (name for kind, name in image.configs.by_resource if kind == TOPIC)
        topics = frozenset(name for name in named if self._settings_of(name).barnabas_archive_enable)
        if topics != self._topics:
            self._topics = topics
            self._changed.set()

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """Call it while connections are still served: the archiver finishes its files."""
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
                "the archiver of %s ended with status %s and will be restarted in %d s; see its messages above",
                ", ".join(sorted(self._topics)),
                status,
                backoff_ms // 1000,
            )
            await self._back_off(backoff_ms)
            backoff_ms = min(2 * backoff_ms, BACKOFF_MS_MAX)

    async def _follow(self, topics: Sequence[str]) -> int | None:
        """Run an archiver until it ends, and return its status; None if the set of archived topics has changed."""
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

    async def _back_off(self, delay_ms: int) -> None:
        """Wait until the delay is over, or the set of archived topics has changed."""
        over = self._clock.call_later(delay_ms, self._changed.set)
        try:
            await self._changed.wait()
        finally:
            over.cancel()


async def _end(process: Process) -> None:
    """SIGTERM first; SIGKILL if this is cancelled, or the process takes too long. Only unfinished work is lost."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS_MAX)
    except TimeoutError:
        logger.warning("the archiver did not stop within %d s and is killed", STOP_SECONDS_MAX)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
