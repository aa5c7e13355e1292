"""Lineage: where data comes from and where it goes, from the project alone, without Spark or a broker.

Boxes are topics, tables, sources, flows, consoles and the dead letters; a topic that one flow writes and a source
reads is one box. `text`, `svg` and `mermaid` draw it, `as_object` is for programs.
"""

import os
from dataclasses import dataclass
from enum import StrEnum

from barnabas.pipeline.project.model import (
    ConsoleOutput,
    Expectation,
    Flow,
    Format,
    Otherwise,
    Project,
    PythonFunction,
    Source,
    TableOutput,
    TopicOutput,
)


class Kind(StrEnum):
    TOPIC = "topic"
    SOURCE = "source"
    TABLE = "table"
    FLOW = "flow"
    VIEW = "view"
    CONSOLE = "console"
    DEAD_LETTERS = "dead letters"


@dataclass(frozen=True)
class Rule:
    name: str
    rule: str
    otherwise: str


@dataclass(frozen=True)
class Box:
    id: str
    kind: Kind
    name: str
    details: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class Arrow:
    start: str
    end: str
    is_bad: bool = False
    """For rows that break a rule or do not match the schema."""


@dataclass(frozen=True)
class Graph:
    project: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]

    def box(self, id_: str) -> Box:
        return next(box for box in self.boxes if box.id == id_)

    def after(self, id_: str) -> tuple[Arrow, ...]:
        return tuple(arrow for arrow in self.arrows if arrow.start == id_)

    def before(self, id_: str) -> tuple[Arrow, ...]:
        return tuple(arrow for arrow in self.arrows if arrow.end == id_)

    def as_object(self) -> dict[str, object]:
        return {
            "project": self.project,
            "nodes": [
                {
                    "id": box.id,
                    "kind": box.kind.value,
                    "name": box.name,
                    "details": list(box.details),
                    "rules": [vars(rule) for rule in box.rules],
                }
                for box in self.boxes
            ],
            "edges": [{"from": arrow.start, "to": arrow.end, "dead_letters": arrow.is_bad} for arrow in self.arrows],
        }


def graph_of(project: Project) -> Graph:
    boxes: dict[str, Box] = {}
    arrows: dict[Arrow, None] = {}
    dead = f"topic:{project.dead_letters.topic}"
    for source in project.sources.values():
        _add(boxes, Box(f"topic:{source.topic}", Kind.TOPIC, source.topic))
        _add(boxes, Box(source.name, Kind.SOURCE, source.name, _about_source(source), _rules(source.expect)))
        arrows[Arrow(f"topic:{source.topic}", source.name)] = None
        if source.format not in (Format.TEXT, Format.BINARY) or _may_die(source.expect):
            arrows[Arrow(source.name, dead, is_bad=True)] = None
    for table in project.tables.values():
        _add(boxes, Box(table.name, Kind.TABLE, table.name, (_short(project, table.path), str(table.format))))
    for flow in project.flows.values():
        kind = Kind.FLOW if flow.output is not None else Kind.VIEW
        _add(boxes, Box(flow.name, kind, flow.name, _about_flow(project, flow), _rules(flow.expect)))
        for name in flow.inputs:
            arrows[Arrow(name, flow.name)] = None
        if flow.output is not None:
            output = _output(project, flow)
            _add(boxes, output)
            arrows[Arrow(flow.name, output.id)] = None
        if _may_die(flow.expect):
            arrows[Arrow(flow.name, dead, is_bad=True)] = None
    if any(arrow.is_bad for arrow in arrows):
        boxes.pop(dead, None)
        boxes[dead] = Box(dead, Kind.DEAD_LETTERS, project.dead_letters.topic)
    return Graph(project.name, tuple(boxes.values()), tuple(arrows))


def _add(boxes: dict[str, Box], box: Box) -> None:
    old = boxes.get(box.id)
    if old is None or (box.details and not old.details):
        boxes[box.id] = box


def _about_source(source: Source) -> tuple[str, ...]:
    columns = ", ".join(source.schema.names)
    about = [f"{source.format}: {columns}"]
    if source.late:
        about.append(f"late after {source.late.after}")
    if source.deduplicate:
        about.append(f"once per {', '.join(source.deduplicate.by)} within {source.deduplicate.within}")
    if source.watermark:
        about.append(f"waits {source.watermark.delay} by {source.watermark.column}")
    return tuple(about)


def _about_flow(project: Project, flow: Flow) -> tuple[str, ...]:
    if isinstance(flow.transform, PythonFunction):
        about = [f"{_short(project, str(flow.transform.file))}:{flow.transform.function}"]
    elif flow.transform.file is not None:
        about = [_short(project, str(flow.transform.file))]
    else:
        about = ["SQL in pipeline.yaml"]
    if flow.trigger:
        about.append(f"every {flow.trigger}")
    return tuple(about)


def _output(project: Project, flow: Flow) -> Box:
    output = flow.output
    if isinstance(output, TopicOutput):
        about = [f"{output.format}, {output.mode}"] + ([f"key {output.key}"] if output.key else [])
        return Box(f"topic:{output.topic}", Kind.TOPIC, output.topic, tuple(about))
    if isinstance(output, TableOutput):
        by = (f"by {', '.join(output.partition_by)}",) if output.partition_by else ()
        return Box(f"table:{output.path}", Kind.TABLE, _short(project, output.path), ("parquet", *by))
    assert isinstance(output, ConsoleOutput)
    return Box(f"console:{flow.name}", Kind.CONSOLE, "console", (str(output.mode),))


def _rules(expect: tuple[Expectation, ...]) -> tuple[Rule, ...]:
    return tuple(Rule(each.name, each.rule, each.otherwise.value) for each in expect)


def _may_die(expect: tuple[Expectation, ...]) -> bool:
    return any(each.otherwise is Otherwise.DEAD_LETTER for each in expect)


def _short(project: Project, path: str) -> str:
    """Paths inside the project are shown relative to it."""
    folder = f"{project.folder}{os.sep}"
    return path.removeprefix(folder)
