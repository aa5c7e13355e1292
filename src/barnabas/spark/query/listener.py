"""Spark's events about queries, passed on to the watcher.

Spark calls these methods over Py4J. `onQueryStarted` is called before `start()` returns and holds it up, the others
come later on Spark's own thread. None of them waits for a broker.
"""

import logging
import re
import threading
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.listener import QueryStartedEvent, QueryTerminatedEvent

from barnabas.client.errors import ClientError
from barnabas.spark.query.plan import PlannedSource, planned_sources
from barnabas.spark.query.progress import read_progress
from barnabas.spark.query.progress_listener import ProgressListener
from barnabas.spark.query.source_watch import SourceWatch
from barnabas.spark.query.watcher import Ended, Started, Watcher
from barnabas.spark.readable import reason_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger("barnabas.spark")

# Behind the indented lines of a Python traceback stands what was raised.
_RAISED = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)")


class QueryListener(ProgressListener):
    def __init__(self, session: "SparkSession", watcher: Watcher) -> None:
        self._session = session
        self._watcher = watcher
        self._queries: dict[str, Any] = {}
        """By run id: those that have begun and not ended."""
        self._lock = threading.Lock()

    def watch_running(self) -> None:
        """The queries that have begun before there was a listener."""
        for query in self._session.streams.active:
            self._begin(query)

    def catch_up(self) -> None:
        """At the end of the program, hear of what Spark had no time to tell."""
        for query in list(self._queries.values()):
            self._hear_last(query)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 # Spark calls it so
        query = self._session.streams.get(str(event.id))
        if query is not None:
            self._begin(query)

    def on_progress(self, told: str) -> None:
        self._watcher.note(read_progress(told))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        run_id = str(event.runId)
        with self._lock:
            self._queries.pop(run_id, None)
        self._watcher.note(Ended(run_id, None if event.exception is None else in_words(event.exception)))

    def _begin(self, query: Any) -> None:
        run_id = str(query.runId)
        with self._lock:
            if run_id in self._queries:
                return
            self._queries[run_id] = query
        try:
            planned = planned_sources(query)
        except Py4JError as error:
            _log.warning(
                "The plan of query %s cannot be read, so it is not watched, and its group is one batch late: %s. "
                "Is this a PySpark 4.x session that runs in this process?",
                query.name or query.id,
                str(error).partition("\n")[0],
            )
            planned = []
        sources = [(index, watch) for index, one in enumerate(planned) if (watch := _watch(index, one)) is not None]
        self._watcher.note(Started(str(query.id), run_id, query.name, sources))
        self._hear_last(query)

    def _hear_last(self, query: Any) -> None:
        try:
            last = query._jsq.lastProgress()
            if last is not None:
                self._watcher.note(read_progress(last.json()))
        except (Py4JError, ConnectionError):
            _log.debug("Spark is gone and cannot be asked for the last batch of a query any more")


def _watch(index: int, planned: PlannedSource) -> SourceWatch | None:
    if not planned.is_ours:
        return None
    try:
        return SourceWatch(index, planned)
    except ClientError as error:  # the query itself will say so, too, and fail
        _log.warning("A source cannot be watched: %s", error)
        return None


def in_words(exception: str) -> str:
    """On one line: what our code said, or else what Python code of the user raised, or else what Spark begins with."""
    reason = reason_of(StreamingQueryException(exception))
    if reason is not None:
        return reason.message.partition("\n")[0]
    raised = _RAISED.search(exception)
    return raised[1] if raised else exception.strip().partition("\n")[0]
