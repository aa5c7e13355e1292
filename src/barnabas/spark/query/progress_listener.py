"""Receives the progress of streaming queries at little cost.

PySpark turns each event into Python objects, with a call to the JVM for every field of every source, sink and state.
With two listeners and four queries, that took a fifth of a core. As JSON, an event takes two calls.
"""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext
from pyspark.sql.streaming.listener import (
    JStreamingQueryListener,
    QueryIdleEvent,
    QueryProgressEvent,
    StreamingQueryListener,
)

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


class ProgressListener(StreamingQueryListener):
    """Progress arrives in `on_progress`; starts and ends of queries arrive as in any listener."""

    @abstractmethod
    def on_progress(self, progress_json: str) -> None:
        """Called after each trigger, with a batch or without: a `StreamingQueryProgress` as JSON."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 # Spark calls it so
        self.on_progress(event.progress.json)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Ignored."""

    @property
    def _jlistener(self) -> "JavaObject":
        """The object that PySpark registers in Spark for this listener."""
        if not hasattr(self, "_jlistenerobj"):
            jvm: Any = SparkContext._jvm
            self._jlistenerobj: JavaObject = jvm.PythonStreamingQueryListenerWrapper(_Unread(self))
        return self._jlistenerobj


class _Unread(JStreamingQueryListener):
    """Passes events on without reading them."""

    pylistener: ProgressListener

    def onQueryProgress(self, jevent: "JavaObject") -> None:  # noqa: N802
        self.pylistener.on_progress(jevent.progress().json())

    def onQueryIdle(self, jevent: "JavaObject") -> None:  # noqa: N802
        """Ignored."""
