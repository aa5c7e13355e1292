"""Reads `tests/`: a folder for each case, in it rows that come in and rows that must come out.

    tests/CASE/input.SOURCE.jsonl   what the topic holds, a row in each line
    tests/CASE/expect.NAME.jsonl    the rows of a flow (or of a source, behind its rules)
    tests/CASE/dead.NAME.jsonl      the dead letters of a source or flow

Everything that is wrong with the files is told at once, at its line, before Spark is started.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.pipeline.project.files import decoded
from barnabas.pipeline.project.model import Project
from barnabas.pipeline.project.problems import Document, Place, Report
from barnabas.spark.errors import UserError
from barnabas.spark.options.names import nearest

FOLDER = "tests"
_SUFFIX = ".jsonl"
_KINDS = ("input", "expect", "dead")


@dataclass(frozen=True)
class Line:
    place: Place
    text: str
    value: object


@dataclass(frozen=True)
class Rows:
    file: str
    """As people name it: tests/CASE/FILE."""
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Case:
    name: str
    inputs: dict[str, Rows]
    """By source."""
    expected: dict[str, Rows]
    """By flow or source."""
    dead: dict[str, Rows]
    """By flow or source."""


def read_cases(project: Project, names: Sequence[str]) -> list[Case]:
    """All cases, or those named."""
    folder = project.folder / FOLDER
    there = sorted(each.name for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []
    if not there:
        raise UserError(
            f"{project.name} has no tests: there is no folder in {folder}",
            "make one with rows in it: tests/first/input.SOURCE.jsonl and tests/first/expect.FLOW.jsonl",
        )
    for name in names:
        if Path(name).name not in there:
            guess = nearest(name, there)
            hint = f"did you mean `{guess}`?" if guess else f"there are: {', '.join(there)}"
            raise UserError(f"there is no case `{name}` in {FOLDER}/", hint)
    report = Report()
    wanted = [Path(name).name for name in names] or there
    cases = [_case(project, folder / name, report) for name in dict.fromkeys(wanted)]
    report.raise_if_any()
    return cases


def _case(project: Project, folder: Path, report: Report) -> Case:
    found: dict[str, dict[str, Rows]] = {kind: {} for kind in _KINDS}
    sources, flows = tuple(project.sources), (*project.flows, *project.sources)
    known = {"input": sources, "expect": flows, "dead": flows}
    for path in sorted(each for each in folder.iterdir() if each.is_file()):
        kind, _, rest = path.name.partition(".")
        if kind not in _KINDS:
            continue
        shown = f"{FOLDER}/{folder.name}/{path.name}"
        name = rest.removesuffix(_SUFFIX)
        if name not in known[kind] or not rest.endswith(_SUFFIX):
            raise UserError(f"{shown}: {_misnamed(kind, name, known[kind])}", _renamed(kind, name, known[kind]))
        document = _document(path, shown, report)
        if document is not None:
            found[kind][name] = Rows(shown, tuple(_lines(document, report)))
    case = Case(folder.name, found["input"], found["expect"], found["dead"])
    if not case.expected and not case.dead:
        raise UserError(
            f"the case `{folder.name}` expects nothing",
            f"add {FOLDER}/{folder.name}/expect.FLOW.jsonl, with the rows that must come out; it may be empty",
        )
    return case


def _misnamed(kind: str, name: str, known: Iterable[str]) -> str:
    what = "source" if kind == "input" else "source or flow"
    return f"the file does not end with {_SUFFIX}" if name in known else f"there is no {what} `{name}`"


def _renamed(kind: str, name: str, known: Sequence[str]) -> str:
    guess = nearest(name, known)
    return f"rename it: {kind}.{guess or known[0]}{_SUFFIX}"


def _document(path: Path, shown: str, report: Report) -> Document | None:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{shown} cannot be read: {error.strerror}", "look at its permissions") from None
    return decoded(shown, data, report)


def _lines(document: Document, report: Report) -> Iterable[Line]:
    start = 0
    for text in document.text.split("\n"):
        place = document.place(start, max(1, len(text)))
        if text.strip():
            try:
                yield Line(place, text, json.loads(text))
            except json.JSONDecodeError as error:
                hint = "each line is a row: {" + '"id": "a", "amount": 250.0}'
                report.add(document.place(start + error.pos), f"not JSON: {error.msg}", hint)
            except RecursionError:
                report.add(place, "not JSON that can be read: nested too deep", "make it flatter")
        start += len(text) + 1
