"""Collects the progress of a run's batches. Spark calls it on a thread of its own; the driver fetches it later."""

import json
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

from pyspark.sql.streaming.listener import QueryStartedEvent, QueryTerminatedEvent

from barnabas.spark.query.progress_listener import ProgressListener


class BatchListener(ProgressListener):
    def __init__(self) -> None:
        self._progress: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ended: set[str] = set()
        self._changed = threading.Condition()

    def batches(self) -> Iterator[dict[str, Any]]:
        """The batches since the last call, each a `StreamingQueryProgress` as JSON."""
        while True:
            try:
                yield json.loads(self._progress.get_nowait())
            except queue.Empty:
                return

    def wait_until_ended(self, run_ids: set[str], limit_s: float) -> None:
        """Wait until Spark reports that these runs ended: by then it has reported all their batches."""
        deadline = time.monotonic() + limit_s
        with self._changed:
            while not run_ids <= self._ended and time.monotonic() < deadline:
                self._changed.wait(max(0.0, deadline - time.monotonic()))

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 # Spark calls it so
        """The driver has started it."""

    def on_progress(self, progress: str) -> None:
        self._progress.put(progress)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        with self._changed:
            self._ended.add(str(event.runId))
            self._changed.notify_all()
