"""Hears of the batches of streaming queries at little cost.

PySpark turns each event of Spark into Python objects, with a question to the JVM for every field of every source,
sink and state. With two listeners and four queries, the JVM was busy with that for a fifth of a core. An event knows
itself as JSON, too: that is two questions.
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
    """Of queries that go on only what `on_progress` is told; that it has started or ended is told as ever."""

    @abstractmethod
    def on_progress(self, told: str) -> None:
        """A batch is over, or a trigger without one: a `StreamingQueryProgress` as JSON."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 # Spark calls it so
        self.on_progress(event.progress.json)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Not asked for."""

    @property
    def _jlistener(self) -> "JavaObject":
        """What PySpark gives to Spark in our place."""
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
        """Not asked for."""
