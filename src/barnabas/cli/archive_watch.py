"""Shows the progress of an archiver, and stops it on Ctrl-C and SIGTERM."""

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

_UPDATE_EVERY_S = 0.5


@contextmanager
def watching(*, follow: bool, several: bool, parent: int | None = None) -> Iterator[Watcher]:
    """`several`: report the failure of a topic at once, as the others continue. `parent`: stop when it has ended."""
    stop = threading.Event()

    def ask_to_stop(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, signal.default_int_handler)  # a second signal does not wait

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
    """A status line on a terminal; nothing for pipes."""

    def __init__(self) -> None:
        self._is_seen = sys.stderr.isatty()
        self._rows = self._bytes = 0
        self._since_s = time.monotonic()
        self._shown_s = 0.0

    def advance(self, step: Advance) -> None:
        self._rows += step.rows
        self._bytes += step.bytes
        now_s = time.monotonic()
        if self._is_seen and now_s - self._shown_s >= _UPDATE_EVERY_S:
            self._shown_s = now_s
            rate = self._bytes / max(now_s - self._since_s, 0.001) / 1e6
            print(
                f"\r{plural(self._rows, 'row')}, {self._bytes / 1e6:,.0f} MB, {rate:,.0f} MB/s\x1b[K",
                end="",
                file=sys.stderr,
                flush=True,
            )

    def end(self) -> None:
        if self._is_seen and self._shown_s:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
