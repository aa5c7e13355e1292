"""Describes the differences between two states of a project: only those that change rows or where they go.

The address of the broker, Spark's settings, triggers, batch sizes, where to begin, comments and the layout of
pipeline.yaml may change from one run to the next. Any other change makes it a different pipeline.
"""

import dataclasses
import difflib
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path

from barnabas.pipeline.project.durations import Duration
from barnabas.pipeline.project.model import Flow, Project, PythonFunction, SqlQuery
from barnabas.pipeline.project.schemas import Schema

_MAY_CHANGE = frozenset({"options", "trigger", "start"})
_LINES_SHOWN = 12
_WIDTH = 120


def changes(old: Project, new: Project) -> list[str]:
    """One entry for each difference; those in a query or a function show the lines."""
    found: list[str] = []
    if old.name != new.name:
        found.append(f"the project was named `{old.name}`, now `{new.name}`")
    for kind in ("source", "table", "flow"):
        found += _of_kind(kind, getattr(old, f"{kind}s"), getattr(new, f"{kind}s"))
    if old.dead_letters != new.dead_letters:
        found.append(f"dead letters went to `{old.dead_letters.topic}`, now to `{new.dead_letters.topic}`")
    found += _modules(old, new)
    return found


def _of_kind(kind: str, old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[str]:
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new:
            yield f"{kind} `{name}` was removed"
        elif name not in old:
            yield f"{kind} `{name}` was added"
        else:
            yield from _fields(f"{kind} `{name}`", old[name], new[name])


def _fields(where: str, old: object, new: object) -> Iterator[str]:
    assert dataclasses.is_dataclass(old)
    assert dataclasses.is_dataclass(new)
    for field in dataclasses.fields(old):
        before, after = getattr(old, field.name), getattr(new, field.name)
        if not field.compare or field.name in _MAY_CHANGE or before == after:
            continue
        if field.name == "transform" and isinstance(old, Flow):
            yield from _transform(where, before, after)
        elif isinstance(before, Schema) and isinstance(after, Schema):
            yield from _schema(where, before, after)
        elif type(before) is type(after) and dataclasses.is_dataclass(before) and not isinstance(before, Duration):
            yield from _fields(f"{where}, {field.name}", before, after)
        elif field.name == "expect":
            yield from _of_kind(f"{where}, rule", {each.name: each for each in before}, {e.name: e for e in after})
        else:
            yield f"{where}: {field.name} was {_shown(before)}, now {_shown(after)}"


def _schema(where: str, old: Schema, new: Schema) -> Iterator[str]:
    before = {column.name: Schema((column,)).ddl for column in old.columns}
    after = {column.name: Schema((column,)).ddl for column in new.columns}
    found_difference = False
    for name in [*before, *(name for name in after if name not in before)]:
        if before.get(name) == after.get(name):
            continue
        found_difference = True
        if name not in after:
            yield f"{where}: the column {before[name]} was removed"
        elif name not in before:
            yield f"{where}: the column {after[name]} was added"
        else:
            yield f"{where}: the column {before[name]} became {after[name]}"
    if not found_difference:
        yield f"{where}: the schema was {_shown(old)}, now {_shown(new)}"


def _transform(where: str, old: SqlQuery | PythonFunction, new: SqlQuery | PythonFunction) -> Iterator[str]:
    if isinstance(old, SqlQuery) and isinstance(new, SqlQuery):
        if _lines(old.text) != _lines(new.text):
            yield f"{where}: the query has changed{_difference(old.text, new.text)}"
    elif isinstance(old, PythonFunction) and isinstance(new, PythonFunction):
        if (old.file.name, old.function) != (new.file.name, new.function):
            yield f"{where}: was {old.file.name}:{old.function}, now {new.file.name}:{new.function}"
    else:
        yield f"{where}: was {_kind(old)}, now {_kind(new)}"


def _modules(old: Project, new: Project) -> Iterator[str]:
    """Python files that flows use, or may import."""
    before = {name: text for name, text in old.texts.items() if name.endswith(".py")}
    after = {name: text for name, text in new.texts.items() if name.endswith(".py")}
    for name in [*before, *(name for name in after if name not in before)]:
        if name not in after:
            yield f"{name} was removed"
        elif name not in before:
            yield f"{name} was added"
        elif _lines(before[name]) != _lines(after[name]):
            yield f"{name} has changed{_difference(before[name], after[name])}"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def _difference(old: str, new: str) -> str:
    lines = [
        line[:_WIDTH]
        for line in difflib.unified_diff(_lines(old), _lines(new), lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    shown = lines[:_LINES_SHOWN] + ([f"... and {len(lines) - _LINES_SHOWN} more"] if len(lines) > _LINES_SHOWN else [])
    return ":\n" + "\n".join(f"    {line}" for line in shown)


def _kind(transform: SqlQuery | PythonFunction) -> str:
    return "a query" if isinstance(transform, SqlQuery) else "a function"


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, Schema):
        return f'"{value.ddl}"'
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value)) or "nothing"
    if dataclasses.is_dataclass(value) and not isinstance(value, Duration):
        parts = (f"{field.name}: {_shown(getattr(value, field.name))}" for field in dataclasses.fields(value))
        return f"{{{', '.join(parts)}}}"
    return f"`{value}`" if isinstance(value, str | Path) else str(value)
