"""Readable errors: finds our own message in what PySpark raises.

Our code runs in Python workers. Its errors reach the user's program as text: a Python traceback inside an
AnalysisException (planning), a PythonException (a task) or a StreamingQueryException (a query), with Spark's own text
before it and a plan or a JVM trace after it. In the traceback, one line begins with the class of our error; its text
continues up to the line with the hint. This part is extracted here, and shown instead of everything else:

- `session()` installs it for scripts and notebooks (`install`);
- `with readable_errors():` raises a plain `UserError` instead;
- `explain(error)` returns the text, for programs that catch errors themselves.

The trace is one flag away: `BARNABAS_TRACE=1`, or `session(trace=True)`.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from barnabas.client.errors import ClientError
from barnabas.spark import versions
from barnabas.spark.errors import HINT, TRACE_VARIABLE, UserError, wants_trace

WHERE_THE_TRACE_IS = f"set {TRACE_VARIABLE}=1 to see the whole trace"

# In a traceback, a line begins with the class of the error. The last one is the one that ended the task: its causes
# come before it.
_OURS = re.compile(r"^barnabas\.[\w.]+: (?P<text>.*?)(?=^barnabas\.[\w.]+: |\Z)", re.MULTILINE | re.DOTALL)
_UP_TO_HINT = re.compile(rf"\A(?P<message>.*?)\n{HINT}(?P<hint>[^\n]*)", re.DOTALL)


def explain(error: BaseException) -> str:
    """What happened and what to do next, without any trace."""
    reason = reason_of(error)
    if reason is not None:
        return f"error: {reason}"
    return f"error: {_without_trace(str(error)) or type(error).__name__}\n{HINT}{WHERE_THE_TRACE_IS}"


@contextmanager
def readable_errors() -> Iterator[None]:
    """Mistakes of the user in this block raise a `UserError`, whatever Spark has wrapped it in."""
    try:
        yield
    except Exception as error:
        reason = reason_of(error)
        if reason is None or reason is error:
            raise
        if wants_trace():
            raise reason from error
        raise reason from None


def reason_of(error: BaseException) -> UserError | None:
    """Our own error, if this one was caused by it."""
    if isinstance(error, UserError):
        return error
    if isinstance(error, ClientError):
        return UserError(error.message, error.hint or WHERE_THE_TRACE_IS)
    if not _is_of_spark(error):
        return None
    found = None
    for found in _OURS.finditer(str(error)):  # noqa: B007 # the last one is wanted
        pass
    return _from_text(found["text"]) if found else _known(str(error))


def _from_text(text: str) -> UserError:
    if with_hint := _UP_TO_HINT.match(text):
        return UserError(with_hint["message"], with_hint["hint"])
    # The errors of `barnabas.client` are one line, with the hint after the last semicolon.
    message, _, hint = text.partition("\n")[0].rpartition("; ")
    return UserError(message or hint, hint if message else WHERE_THE_TRACE_IS)


def _known(text: str) -> UserError | None:
    """Errors of Spark itself that we can explain."""
    if "DATA_SOURCE_NOT_FOUND" in text and "barnabas" in text:
        return versions.problem() or UserError(
            "Spark does not find the format barnabas: barnabas is not installed in the Python that Spark starts.",
            "create the session with barnabas.spark.session(), or set PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON to "
            f"{sys.executable} before Spark starts",
        )
    if missing := re.search(r"No module named '((?:py)?(?:spark_)?barnabas|pyarrow|numpy)", text):
        return UserError(
            f"The Python that Spark starts for its tasks has no {missing[1]}.",
            "run pip install 'barnabas[spark]' there, or set PYSPARK_PYTHON to one that has it, before Spark starts",
        )
    if unable := re.search(r'Cannot run program "([^"]*python[^"]*)"', text):
        return UserError(
            f"Spark cannot start the Python {unable[1]} on a machine that runs tasks.",
            "set PYSPARK_PYTHON to one that all machines have, with barnabas[spark] installed, before Spark starts",
        )
    if "Python worker failed to connect back" in text:
        return UserError(
            "A Python worker did not start within the ten seconds that Spark gives it.",
            "try again; if it happens often, the machine is overloaded, or the disk with Python on it is too slow",
        )
    if "barnabas does not support Update mode" in text:
        return UserError(
            'Spark has no outputMode("update") for sinks in Python.',
            'use outputMode("append") with a watermark, or "complete"; or write with rows.write in foreachBatch, with '
            "the options txnAppId and txnVersion",
        )
    if "JAVA_GATEWAY_EXITED" in text:
        return UserError(
            "Java ended before Spark had started; its output is above.",
            "check the settings that Java reads at its start: spark.driver.memory, spark.driver.extraJavaOptions",
        )
    return None


def _is_of_spark(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] in ("pyspark", "py4j") for kind in type(error).__mro__)


def _without_trace(text: str) -> str:
    return re.split(r"\n\s*at |\nJVM stacktrace:|\n=== Streaming Query ===", text)[0].strip()


def install() -> None:
    """In this program, and in its notebook if it runs in one, show only the text of errors that we can read.

    All other errors are passed to the previous hook.
    """
    if not isinstance(sys.excepthook, _Hook):
        sys.excepthook = _Hook(sys.excepthook)
    notebook = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if notebook is not None:
        notebook.set_custom_exc((Exception,), _show_in_notebook)


class _Hook:
    def __init__(self, before: Callable[..., Any]) -> None:
        self._before = before

    def __call__(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None, /) -> None:
        reason = reason_of(error)
        if reason is None or wants_trace():
            self._before(kind, error, trace)
        if reason is not None:
            print(explain(reason), file=sys.stderr, flush=True)


def _show_in_notebook(
    notebook: Any,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
    tb_offset: int | None = None,
) -> None:
    reason = reason_of(error)
    if reason is None or wants_trace():
        notebook.showtraceback((kind, error, trace), tb_offset=tb_offset)
    if reason is not None:
        print(explain(reason), file=sys.stderr, flush=True)
