"""Hides tracebacks of Python workers that the JVM disconnected from.

Spark's daemon forks a Python process for each task and each step of planning. When one fails or is cancelled, the JVM
closes its socket while the process may still have something to flush; the daemon prints that as a traceback on the
user's terminal, before the error that matters. It carries no information: the JVM closed the connection. So in the
forked process, this one kind of error is not printed. The source of a stream runs in its own process, and a query that
is stopped disconnects from it in the same way. With BARNABAS_TRACE=1 everything is printed.
"""

import sys
import traceback
from types import SimpleNamespace, TracebackType

DAEMON = "pyspark.daemon"
SOURCE_RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"


def silence_disconnects() -> None:
    """Only in a process that Spark's daemon forked, or in one with the source of a stream."""
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", None)
    if name == SOURCE_RUNNER:
        sys.excepthook = _show
    elif name == DAEMON:
        # Only the daemon's own reference to the module: a user's function can still print traces.
        main.__dict__["traceback"] = SimpleNamespace(print_exc=_print_exc, format_exc=traceback.format_exc)


def _print_exc() -> None:
    from barnabas.spark.errors import wants_trace

    if wants_trace() or not isinstance(sys.exception(), ConnectionError):
        traceback.print_exc()


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None, /) -> None:
    from barnabas.spark.errors import wants_trace

    if wants_trace() or not isinstance(error, ConnectionError):
        sys.__excepthook__(kind, error, trace)
