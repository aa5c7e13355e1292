"""Turns errors of Spark and Python about a flow into messages that point into the user's files, without traces.

sql/averages.sql:3:15: there is no column `vlaue`
  3 |   round(avg(vlaue), 3) AS average
    |             ^^^^^
hint: did you mean `value`?
"""

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from barnabas.pipeline.project.model import Expectation, Flow, Project, PythonFunction, Source, SqlQuery
from barnabas.pipeline.project.nodes import Scalar
from barnabas.pipeline.project.problems import Document, Place, Problem
from barnabas.pipeline.project.sql_keywords import probable_keyword_before
from barnabas.spark.errors import UserError, wants_trace
from barnabas.spark.options.names import nearest
from barnabas.spark.readable import reason_of

_SPARKS_OWN_LOGS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""PySpark writes every error of a query to the terminal too, as JSON with the JVM's trace in it."""

_CODE = re.compile(r"^\s*\[[A-Z0-9_.]+\]\s*")
_AFTER_MESSAGE = re.compile(
    r"\s*SQLSTATE: \w+.*|;\n.*|\n== SQL.*|\n'?\w+ \[.*|\n\s*at .*|\nJVM stacktrace.*", re.DOTALL
)
_MESSAGE_IN_TRACE = re.compile(r"\[[A-Z][A-Z0-9_.]+\] (?P<text>[^\n]*?)(?= SQLSTATE:|\n|\Z)")
"""Each exception of a JVM trace has a message; the first and the last say most."""
_LINE_AND_POS = re.compile(r"\(line (\d+), pos (\d+)\)")
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>\S+)', re.MULTILINE)
_LAST_LINE = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Warning|\w)): ?(?P<text>.*)$", re.MULTILINE)
_SEE_TRACE = "--trace shows the full traces of Spark and Python"
_NEXT = f"correct it there; {_SEE_TRACE}"

_STREAM_HINTS = {
    "without watermark on streaming": "give the source a `watermark` and group by a window, or write `mode: update`",
    "Sorting is not supported on streaming": "remove ORDER BY: a stream never ends, so its rows cannot be sorted",
    "Limits are not supported on streaming": "remove LIMIT, or write `mode: append`",
    "Window function is not supported": "group by a window of time instead: GROUP BY window(at, '1 minute')",
    "Stream-stream ": "give both sources a `watermark`, and bound their times in the join: "
    "a.at BETWEEN b.at AND b.at + INTERVAL 1 HOUR",
}
"""Hints for what Spark supports in batches only, by a part of its message."""


def in_query(flow: Flow, query: SqlQuery) -> AbstractContextManager[None]:
    """Report Spark's errors about a query."""
    return _translating(lambda error: _at(query.written, f"flow `{flow.name}`", error, shift=0))


@contextmanager
def in_rule(owner: Source | Flow, rule: Expectation) -> Iterator[None]:
    """Report Spark's errors about a rule, which is on a line of its own after a parenthesis."""
    with _translating(lambda error: _at(rule.written, f"rule `{rule.name}` of `{owner.name}`", error, shift=2)):
        try:
            yield
        except UserError as error:
            raise _problem(
                rule.written, 0, len(rule.rule), f"rule `{rule.name}`: {error.message}", error.hint
            ) from None


@contextmanager
def in_function(flow: Flow, function: PythonFunction, project: Project) -> Iterator[None]:
    """Report exceptions of a flow's function, at the last line of the user's own files in the traceback."""
    with _silence_spark_logs():
        try:
            yield
        except UserError:
            raise
        except Exception as error:
            frames = [
                frame
                for frame in traceback.extract_tb(error.__traceback__)
                if _is_users_file(frame.filename, function.file.parent)
                or _is_users_file(frame.filename, project.folder)
            ]
            line = frames[-1] if frames else None
            file, number = (Path(line.filename), line.lineno or 1) if line else (function.file, 1)
            message, hint = _message_and_hint(error)
            raise _in_file(project, file, number, f"flow `{flow.name}`: {message}", hint) from _cause(error)


def in_flows(project: Project) -> AbstractContextManager[None]:
    """Report errors while rows are processed."""
    return _translating(lambda error: explain(error, project))


@contextmanager
def _translating(translate: Callable[[Exception], UserError]) -> Iterator[None]:
    """Raise the translation of an error of Spark."""
    with _silence_spark_logs():
        try:
            yield
        except Exception as error:
            if not _is_spark_error(error):
                raise
            raise translate(error) from _cause(error)


def explain(error: BaseException, project: Project) -> UserError:
    """A query's error as a message, with the line of the function or query it comes from, if known."""
    known = reason_of(error)
    if known is not None:
        return known
    text = str(error)
    frame = None
    for found in _FRAME.finditer(text):
        path = Path(found["file"])
        if _is_users_file(path, project.folder) or path in _python_files(project):
            frame = found
    if frame is not None:
        said = _LAST_LINE.search(text, frame.end())
        message = f"{said['kind'].rpartition('.')[2]}: {said['text']}" if said else "it failed"
        return _in_file(project, Path(frame["file"]), int(frame["line"]), message, _NEXT)
    message, hint = _message_and_hint(error)
    for flow in project.flows.values():
        query = flow.transform
        for context in _contexts(error):
            start, fragment = context.startIndex(), context.fragment()
            if isinstance(query, SqlQuery) and fragment and query.text[start : start + len(fragment)] == fragment:
                return _problem(query.written, start, len(fragment), f"flow `{flow.name}`: {message}", hint)
    return UserError(message, _SEE_TRACE if hint == _NEXT else hint)


def _at(written: Scalar | None, what: str, error: Any, *, shift: int) -> UserError:
    """`shift`: how many characters we have put before the user's text, the last of them a line end."""
    message, hint = _message_and_hint(error)
    text = written.text if written else ""
    position, length = _position(error, text, shift)
    misspelt = probable_keyword_before(text, position) if _condition(error).startswith("PARSE") else None
    if misspelt is not None:
        hint = f"did you mean {misspelt[1]} instead of {misspelt[0]}?"
    return _problem(written, position, length, f"{what}: {message}", hint)


def _position(error: Any, text: str, shift: int) -> tuple[int, int]:
    for context in _contexts(error):
        start = context.startIndex() - shift
        return start, min(context.stopIndex() - shift, len(text) - 1) - start + 1
    found = _LINE_AND_POS.search(str(error))
    if found is None:
        return 0, 1
    line, column = int(found[1]) - (1 if shift else 0), int(found[2])
    lines = text.split("\n")
    if line > len(lines):  # after the end, at our own parenthesis
        return max(0, len(text.rstrip()) - 1), 1
    word = re.match(r"\w+", lines[line - 1][column:])
    return sum(len(each) + 1 for each in lines[: line - 1]) + column, len(word[0]) if word else 1


def _contexts(error: Any) -> list[Any]:
    """The contexts that are places in a SQL text."""
    try:
        contexts = error.getQueryContext()
    except Exception:  # an error of another kind, or one whose JVM is gone
        return []
    return [each for each in contexts if each.contextType().name == "SQL" and each.startIndex() >= 0]


def _message_and_hint(error: Any) -> tuple[str, str]:
    """A message and a hint, from an error of Spark or an exception of Python."""
    if not _is_spark_error(error):
        return f"{type(error).__name__}: {' '.join(str(error).split())}", _NEXT
    parameters = _parameters(error)
    condition = _condition(error)
    if condition.startswith(("UNRESOLVED_COLUMN", "UNRESOLVED_FIELD")):
        name = parameters.get("objectName", parameters.get("fieldName", ""))
        return f"there is no column {name}", _suggested_column(name, parameters.get("proposal", ""))
    if condition.startswith("UNRESOLVED_ROUTINE"):
        return (
            f"there is no function {parameters.get('routineName', '')}",
            "look it up: spark.apache.org/docs/latest/api/sql",
        )
    if condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
        name = parameters.get("relationName", "")
        return f"there is no table {name}", "declare it under `sources:`, `tables:` or `flows:`, or under `inputs:`"
    if not condition:
        messages = list(dict.fromkeys(found["text"].strip() for found in _MESSAGE_IN_TRACE.finditer(str(error))))
        if messages:
            message = " ".join(messages[:: len(messages) - 1] if len(messages) > 1 else messages)
            return message, "correct the file, or its schema" if "reading file" in message else _SEE_TRACE
    message = _AFTER_MESSAGE.sub("", _CODE.sub("", str(error), count=1), count=1).strip()
    return message.removesuffix(";") or type(error).__name__, _hint(condition, message)


def _suggested_column(name: str, proposal: str) -> str:
    """Spark suggests `table`.`column`, internal columns included."""
    columns = [each.rpartition("`.`")[2].strip("`") for each in proposal.split(", ")] if proposal else []
    known = [each for each in dict.fromkeys(columns) if not each.startswith("_")]
    guess = nearest(name.rpartition("`.`")[2].strip("`"), known)
    if guess:
        return f"did you mean `{guess}`?"
    return f"there are {', '.join(f'`{each}`' for each in known)}" if known else "look at the names of the columns"


def _hint(condition: str, message: str) -> str:
    for words, hint in _STREAM_HINTS.items():
        if words in message:
            return hint
    if condition.startswith("PARSE"):
        return "correct the query"
    if condition.startswith(("CAST", "DIVIDE", "ARITHMETIC", "NUMERIC", "INVALID_ARRAY", "CANNOT_PARSE")):
        return (
            "use a function that returns null instead, such as try_cast or try_divide, or exclude such rows with a rule"
        )
    return _NEXT


def _condition(error: Any) -> str:
    try:
        return str(error.getCondition() or "")
    except Exception:  # an error of another kind, or one whose JVM is gone
        return ""


def _parameters(error: Any) -> dict[str, str]:
    try:
        return dict(error.getMessageParameters() or {})
    except Exception:  # an error of another kind, or one whose JVM is gone
        return {}


def _problem(written: Scalar | None, position: int, length: int, message: str, hint: str) -> UserError:
    if written is None:
        return UserError(message, hint)
    return _user_error(written.place_of(max(0, position), max(1, length)), message, hint)


def _in_file(project: Project, file: Path, line: int, message: str, hint: str) -> UserError:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
        name = str(file.relative_to(project.folder)) if file.is_relative_to(project.folder) else str(file)
    except OSError:
        return UserError(f"{file}:{line}: {message}", hint)
    document = Document(name, text)
    shown = document.line(line)
    indent = len(shown) - len(shown.lstrip())
    return _user_error(Place(document, line, indent + 1, len(shown.strip())), message, hint)


def _user_error(place: Place, message: str, hint: str) -> UserError:
    return UserError(Problem(place, message, hint).head(), hint)


def _python_files(project: Project) -> list[Path]:
    return [flow.transform.file for flow in project.flows.values() if isinstance(flow.transform, PythonFunction)]


def _is_users_file(file: str | Path, folder: Path) -> bool:
    """Whether the user wrote it. Packages may be installed inside a project's folder, too."""
    return Path(file).is_relative_to(folder) and "site-packages" not in Path(file).parts


def _cause(error: BaseException) -> BaseException | None:
    return error if wants_trace() else None


def _is_spark_error(error: object) -> bool:
    return any(kind.__module__.partition(".")[0] in ("pyspark", "py4j") for kind in type(error).__mro__)


@contextmanager
def _silence_spark_logs() -> Iterator[None]:
    if wants_trace():
        yield
        return
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in _SPARKS_OWN_LOGS]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was
