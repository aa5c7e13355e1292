"""No trace on the terminal for a Python worker whose JVM hung up on it.

Spark's daemon forks a Python process for each task and each step of planning. When one fails or is cancelled, the JVM
closes its socket, while the process may still have something to flush; the daemon shows that as a traceback on the
user's terminal, ahead of the error that matters. Nothing is lost without it: it was the JVM that hung up. So in the
forked process, where our code is what runs, the daemon is told not to show this one kind of error. A stream's source
runs in a process of its own, and a query that is stopped hangs up on it in the same way. With BARNABAS_TRACE=1 all of
it is shown.
"""

import sys
import traceback
from types import SimpleNamespace, TracebackType

DAEMON = "pyspark.daemon"
SOURCE_RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"


def hush() -> None:
    """Do so, if this process is one that Spark's daemon forked, or one with a stream's source."""
    main = sys.modules["__main__"]
    name = getattr(getattr(main, "__spec__", None), "name", None)
    if name == SOURCE_RUNNER:
        sys.excepthook = _show
    elif name == DAEMON:
        # The daemon's own name for the module, and no more: a user's function that prints a trace still does.
        main.__dict__["traceback"] = SimpleNamespace(print_exc=_print_exc, format_exc=traceback.format_exc)


def _print_exc() -> None:
    from barnabas.spark.errors import wants_trace

    if wants_trace() or not isinstance(sys.exception(), ConnectionError):
        traceback.print_exc()


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None, /) -> None:
    from barnabas.spark.errors import wants_trace

    if wants_trace() or not isinstance(error, ConnectionError):
        sys.__excepthook__(kind, error, trace)
