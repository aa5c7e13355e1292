"""Ctrl-C and SIGTERM stop a run after its current batches; a second one stops it at once."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Self

_WATCHED = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """`count`: how many signals came. Works in the main thread only; elsewhere signals are ignored."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.count = 0
        self._say = say
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        self.listen()
        return self

    def listen(self) -> None:
        """Call again after Spark has started: it installs a handler of its own, which cancels running jobs."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _WATCHED:
            before = signal.signal(number, self._on_signal)
            self._before.setdefault(number, before)

    def __exit__(self, *raised: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]  # what signal() gave

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        name = "Ctrl-C" if number == signal.SIGINT else "SIGTERM"
        when = "after the current batches; once more stops at once" if self.count == 1 else "at once"
        self._say(f"{name}: stopping {when}")
