"""What people see of an archiver at work, and how it is told to stop."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from barnabas.archive.run import Watcher
from barnabas.archive.topic_archiver import Advance
from barnabas.cli.output import plural, say
from barnabas.history.errors import HistoryError

_TELL_EVERY_S = 0.5


@contextmanager
def watching(*, follow: bool, several: bool, parent: int | None = None) -> Iterator[Watcher]:
    """`several`: a topic that fails is told at once, because the others go on. `parent`: stop when it has ended."""
    stop = threading.Event()

    def ask_to_stop(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, signal.default_int_handler)  # whoever asks twice does not want to wait

    def failed(topic: str, failure: HistoryError) -> None:
        if several:
            say(f"{topic}: {failure.message}\nhint: {failure.hint}")

    wanted = [signal.SIGINT, signal.SIGTERM] if follow and threading.current_thread() is threading.main_thread() else []
    before = {number: signal.signal(number, ask_to_stop) for number in wanted}
    line = _Line()
    try:
        yield Watcher(
            on_advance=line.advance,
            on_failure=failed,
            should_stop=lambda: stop.is_set() or parent not in (None, os.getppid()),
            sleep=stop.wait,
        )
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        line.end()


class _Line:
    """One line on a terminal that is written over; nothing for pipes."""

    def __init__(self) -> None:
        self._is_seen = sys.stderr.isatty()
        self._rows = self._bytes = 0
        self._since_s = time.monotonic()
        self._told_s = 0.0

    def advance(self, step: Advance) -> None:
        self._rows += step.rows
        self._bytes += step.bytes
        now_s = time.monotonic()
        if self._is_seen and now_s - self._told_s >= _TELL_EVERY_S:
            self._told_s = now_s
            rate = self._bytes / max(now_s - self._since_s, 0.001) / 1e6
            print(
                f"\r{plural(self._rows, 'row')}, {self._bytes / 1e6:,.0f} MB, {rate:,.0f} MB/s\x1b[K",
                end="",
                file=sys.stderr,
                flush=True,
            )

    def end(self) -> None:
        if self._is_seen and self._told_s:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
