"""Spark's events about queries, passed on to the watcher.

Spark calls these methods over Py4J. `onQueryStarted` is called before `start()` returns and delays it; the others
are called later, on Spark's own thread. None of them waits for a broker.
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

# The exception follows the indented lines of a Python traceback.
_RAISED = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)")


class QueryListener(ProgressListener):
    def __init__(self, session: "SparkSession", watcher: Watcher) -> None:
        self._session = session
        self._watcher = watcher
        self._queries: dict[str, Any] = {}
        """By run id: the running queries."""
        self._lock = threading.Lock()

    def watch_running(self) -> None:
        """Watch queries that were started before the listener."""
        for query in self._session.streams.active:
            self._begin(query)

    def catch_up(self) -> None:
        """At the end of the program, fetch the progress that Spark has not reported yet."""
        for query in list(self._queries.values()):
            self._take_last_progress(query)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 # Spark calls it so
        query = self._session.streams.get(str(event.id))
        if query is not None:
            self._begin(query)

    def on_progress(self, progress_json: str) -> None:
        self._watcher.note(read_progress(progress_json))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        run_id = str(event.runId)
        with self._lock:
            self._queries.pop(run_id, None)
        self._watcher.note(Ended(run_id, None if event.exception is None else describe_exception(event.exception)))

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
        self._take_last_progress(query)

    def _take_last_progress(self, query: Any) -> None:
        try:
            last = query._jsq.lastProgress()
            if last is not None:
                self._watcher.note(read_progress(last.json()))
        except (Py4JError, ConnectionError):
            _log.debug("Spark has stopped: the last batch of a query cannot be fetched")


def _watch(index: int, planned: PlannedSource) -> SourceWatch | None:
    if not planned.is_ours:
        return None
    try:
        return SourceWatch(index, planned)
    except ClientError as error:  # the query itself reports it, too, and fails
        _log.warning("A source cannot be watched: %s", error)
        return None


def describe_exception(exception: str) -> str:
    """In one line: our own error, or the exception of the user's Python code, or the start of Spark's message."""
    reason = reason_of(StreamingQueryException(exception))
    if reason is not None:
        return reason.message.partition("\n")[0]
    raised = _RAISED.search(exception)
    return raised[1] if raised else exception.strip().partition("\n")[0]
