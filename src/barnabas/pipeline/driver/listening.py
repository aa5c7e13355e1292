"""Hears what Spark tells about the batches of a run. Spark calls on a thread of its own; the driver takes it later."""

import queue
import threading
import time
from collections.abc import Iterator

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)


class Listening(StreamingQueryListener):
    def __init__(self) -> None:
        self._told: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._ended: set[str] = set()
        self._news = threading.Condition()

    def batches(self) -> Iterator[tuple[str, str]]:
        """Those that have come since the last call: the query's run id and its progress as JSON."""
        while True:
            try:
                yield self._told.get_nowait()
            except queue.Empty:
                return

    def wait_for_ends(self, run_ids: set[str], limit_s: float) -> None:
        """Until Spark has told that these are over: it has told of all their batches then."""
        deadline = time.monotonic() + limit_s
        with self._news:
            while not run_ids <= self._ended and time.monotonic() < deadline:
                self._news.wait(max(0.0, deadline - time.monotonic()))

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 # Spark calls it so
        """The driver has started it."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        self._told.put((str(event.progress.runId), event.progress.json))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """The driver sees that from the query's own status."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        with self._news:
            self._ended.add(str(event.runId))
            self._news.notify_all()
