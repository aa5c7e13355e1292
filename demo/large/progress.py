"""A progress bar on a terminal; elsewhere a line now and then."""

import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import TaskID

_REPORT_EVERY_S: Final = 15.0


class Progress:
    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._console = Console()
        self._bar = Bar(console=self._console) if self._console.is_terminal else None
        self._task: TaskID | None = None
        self._last_report = self._started = time.monotonic()

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=self._total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if kind is None:
            seconds = time.monotonic() - self._started
            print(f"{self._what}: {self._total:,} in {seconds:.0f} s", flush=True)

    def at(self, done: int) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done)
        elif time.monotonic() - self._last_report > _REPORT_EVERY_S:
            self._last_report = time.monotonic()
            print(f"{self._what}: {done:,} of {self._total:,}", flush=True)
