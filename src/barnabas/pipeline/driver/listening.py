"""Hears what Spark tells about the batches of a run. Spark calls on a thread of its own; the driver takes it later."""

import json
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

from pyspark.sql.streaming.listener import QueryStartedEvent, QueryTerminatedEvent

from barnabas.spark.query.progress_listener import ProgressListener


class Listening(ProgressListener):
    def __init__(self) -> None:
        self._told: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ended: set[str] = set()
        self._news = threading.Condition()

    def batches(self) -> Iterator[dict[str, Any]]:
        """Those that have come since the last call, each a `StreamingQueryProgress` as JSON has it."""
        while True:
            try:
                yield json.loads(self._told.get_nowait())
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

    def on_progress(self, told: str) -> None:
        self._told.put(told)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        with self._news:
            self._ended.add(str(event.runId))
            self._news.notify_all()
