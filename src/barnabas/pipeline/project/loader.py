"""Loads a `Project` from a folder, or raises everything that is wrong with it."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from barnabas.pipeline.location import find
from barnabas.pipeline.project.fields import Fields
from barnabas.pipeline.project.files import Files, decoded
from barnabas.pipeline.project.flow_section import DraftFlow, FlowReader
from barnabas.pipeline.project.keys import DEAD_LETTERS, LOG, PROJECT, SPARK
from barnabas.pipeline.project.model import DeadLetters, Log, Project, Source, SparkSettings, Table
from barnabas.pipeline.project.names import check_project_name, check_topic
from barnabas.pipeline.project.nodes import Entries, NotYaml, Scalar, parse
from barnabas.pipeline.project.options import kafka_options
from barnabas.pipeline.project.overrides import with_flags, with_profile
from barnabas.pipeline.project.problems import Document, Place, Report
from barnabas.pipeline.project.references import check_outputs, resolve_references
from barnabas.pipeline.project.source_section import SourceReader
from barnabas.spark.errors import UserError

_MAX_BYTES = 1 << 20


def load(
    where: Path | str = ".",
    *,
    profile: str | None = None,
    overrides: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    kept: Path | None = None,
) -> Project:
    """The project in a folder, or of a file. `overrides`: settings such as `log.bootstrap=kafka:9092`.

    `kept`: a folder with an earlier copy of its texts (`Project.texts`), to read instead of the current ones.
    """
    file = find(Path(where))
    report = Report()
    document = decoded(file.name, _read(file if kept is None else kept / file.name), report)
    variables = os.environ if environment is None else environment
    files = Files(file.parent, report, kept)
    project = None
    if document is not None:
        files.texts[file.name] = document.text
        project = _read_project(file, document, profile, overrides, variables, files)
    report.raise_if_any()
    assert project is not None  # without a project there is a problem
    return project


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            data = opened.read(_MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}", "look at its permissions") from None
    if len(data) > _MAX_BYTES:
        raise UserError(f"{file} is larger than a megabyte", "is it the right file?")
    return data


def _read_project(
    file: Path,
    document: Document,
    profile: str | None,
    overrides: Sequence[str],
    environment: Mapping[str, str],
    files: Files,
) -> Project | None:
    report = files.report
    try:
        root = parse(document, environment, report)
    except NotYaml:
        return None
    if not isinstance(root, Entries):
        what = "is empty" if isinstance(root, Scalar) and root.kind == "nothing" else f"is {root.kind}, not a mapping"
        report.add(root.place, f"{file.name} {what}", "begin with `name: NAME`; see `barnabas pipeline init`")
        return None
    root = with_flags(with_profile(root, profile, report), overrides, environment, report)
    fields = Fields(report, PROJECT, root, document.place(0), "the project")
    name = fields.scalar("name")
    if name is not None:
        check_project_name(name, report)
    sources, tables, drafts = _read_names(fields, files, report)
    dead_letters, dead_place = _dead_letters(fields, name.text if name else "", report)
    for source in sources.values():
        if source.topic == dead_letters.topic:
            report.add(
                dead_place, f"source `{source.name}` reads the dead letters' topic", "give dead letters their own topic"
            )
    check_outputs(list(drafts.values()), (dead_letters.topic, dead_place), report)
    return Project(
        folder=file.parent,
        file=file,
        name=name.text if name else "",
        log=_log(fields),
        spark=_spark(fields),
        sources=sources,
        tables=tables,
        flows=resolve_references(list(drafts.values()), sources, tables, report),
        trigger=fields.duration("trigger"),
        dead_letters=dead_letters,
        texts=files.texts,
        profile=profile,
        overrides=tuple(overrides),
    )


def _read_names(
    fields: Fields, files: Files, report: Report
) -> tuple[dict[str, Source], dict[str, Table], dict[str, DraftFlow]]:
    source_reader, flow_reader = SourceReader(report, files), FlowReader(report, files)
    seen: dict[str, str] = {}
    sources, tables, drafts = {}, {}, {}
    for kind, section in (("source", "sources"), ("table", "tables"), ("flow", "flows")):
        for name, node in fields.sections(section):
            if name.text.lower() in seen:
                report.add(
                    name.place,
                    f"{kind} `{name.text}` has the name of {seen[name.text.lower()]}",
                    "choose another: names are used in SQL, where upper and lower case are the same",
                )
            seen.setdefault(name.text.lower(), f"{kind} `{name.text}`")
            if kind == "source":
                sources[name.text] = source_reader.source(name, node)
            elif kind == "table":
                tables[name.text] = source_reader.table(name, node)
            else:
                drafts[name.text] = flow_reader.flow(name, node)
    for section in ("sources", "flows"):
        found = fields.node(section)
        if isinstance(found, Entries) and not found.entries:
            report.add(found.place, f"`{section}` is empty", f"add one: a pipeline needs {section}")
    return sources, tables, drafts


def _log(fields: Fields) -> Log:
    inner = fields.section("log", LOG)
    if inner is None:
        return Log("", {})
    return Log(inner.text("bootstrap") or "", kafka_options(inner, "options"))


def _spark(fields: Fields) -> SparkSettings:
    inner = fields.section("spark", SPARK)
    if inner is None:
        return SparkSettings(None, {})
    conf = inner.options("conf")
    for name, value in conf.items():
        if not name.startswith("spark."):
            inner.report.add(
                value.place,
                f"`{name}` is not a setting of Spark",
                f"settings of Spark begin with spark.: `spark.{name}`",
            )
    return SparkSettings(inner.text("master"), {name: value.text for name, value in conf.items()})


def _dead_letters(fields: Fields, project: str, report: Report) -> tuple[DeadLetters, Place]:
    inner = fields.section("dead_letters", DEAD_LETTERS)
    topic = inner.scalar("topic") if inner is not None else None
    if inner is None or topic is None:
        return DeadLetters(f"{project}.dead-letters"), fields.owner
    check_topic(topic, report)
    return DeadLetters(topic.text), topic.place
