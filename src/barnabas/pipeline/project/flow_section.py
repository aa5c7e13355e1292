"""Reads `flows.NAME`: the query or function, the inputs that can be found in it, and the output."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.pipeline.project.fields import Fields
from barnabas.pipeline.project.files import Files
from barnabas.pipeline.project.keys import FLOW, OUTPUT
from barnabas.pipeline.project.model import (
    ConsoleOutput,
    Flow,
    Mode,
    Output,
    OutputFormat,
    PythonFunction,
    SqlQuery,
    TableOutput,
    TopicOutput,
)
from barnabas.pipeline.project.names import check_name, check_topic
from barnabas.pipeline.project.nodes import Node, Scalar
from barnabas.pipeline.project.options import write_options
from barnabas.pipeline.project.problems import Place, Report
from barnabas.pipeline.project.python_functions import NotAFunction, parameters_of
from barnabas.pipeline.project.source_section import expectations
from barnabas.pipeline.project.sql_tables import table_names
from barnabas.pipeline.project.sql_tokens import NotSql

SESSION, ALL_INPUTS = "spark", "inputs"
"""Parameters of a Python function that are not names of inputs."""

_FILE = re.compile(r"\S+\.sql")
_QUERY = re.compile(r"\s*(?:/\*|--|\(|(?:select|with|from|table|values)\b)", re.IGNORECASE)


@dataclass(frozen=True)
class Wanted:
    """A name that a flow reads, before it is known whether it exists."""

    name: str
    place: Place
    optional: bool = False


@dataclass(frozen=True)
class DraftFlow:
    flow: Flow
    wanted: tuple[Wanted, ...]
    name_place: Place
    output_place: Place


@dataclass(frozen=True)
class FlowReader:
    report: Report
    files: Files

    def flow(self, name: Scalar, node: Node) -> DraftFlow:
        check_name(name, "flow", self.report)
        fields = Fields(self.report, FLOW, node, name.place, f"flow `{name.text}`")
        declared = tuple(Wanted(each.text, each.place) for each in fields.texts("inputs"))
        transform: SqlQuery | PythonFunction = SqlQuery(None, "")
        seen: tuple[Wanted, ...] = ()
        if "sql" in fields and "python" in fields:
            self.report.add(fields.key_place("python"), f"flow `{name.text}` has both `sql` and `python`", "remove one")
        elif "sql" in fields:
            transform, seen = self._sql(fields, look="inputs" not in fields)
        elif "python" in fields:
            transform, seen = self._python(fields, declared=declared if "inputs" in fields else None)
        elif fields.readable:
            self.report.add(
                name.place,
                f"flow `{name.text}` has neither `sql` nor `python`",
                "give it `sql: sql/NAME.sql` or `python: FILE:FUNCTION`",
            )
        output_place, output = self._output(fields)
        flow = Flow(
            name=name.text,
            transform=transform,
            inputs=(),
            output=output,
            trigger=fields.duration("trigger"),
            expect=expectations(fields),
        )
        return DraftFlow(flow, declared if "inputs" in fields else seen, name.place, output_place)

    def _sql(self, fields: Fields, *, look: bool) -> tuple[SqlQuery, tuple[Wanted, ...]]:
        given = fields.scalar("sql")
        if given is None:
            return SqlQuery(None, ""), ()
        text, path = given, None
        if _FILE.fullmatch(given.text) or not _QUERY.match(given.text):
            if not _FILE.fullmatch(given.text) and any(map(str.isspace, given.text.strip())):
                hint = "write a file, `sql: sql/NAME.sql`, or a query that begins with SELECT, WITH or FROM"
                self.report.add(given.place, "this is neither a file nor a query", hint)
                return SqlQuery(None, ""), ()
            document = self.files.read(given, "SQL file")
            if document is None:
                return SqlQuery(None, ""), ()
            path = self.files.text_path(given.text)
            text = Scalar(document.place(0), document.text, "text", 0)
        try:
            names = table_names(text.text)
        except NotSql as error:
            self.report.add(text.place_of(error.position), f"not SQL: {error}", error.hint)
            return SqlQuery(path, text.text, text), ()
        seen = tuple(Wanted(each.name, text.place_of(each.position, each.length)) for each in names) if look else ()
        return SqlQuery(path, text.text, text), seen

    def _python(
        self, fields: Fields, *, declared: Sequence[Wanted] | None
    ) -> tuple[SqlQuery | PythonFunction, tuple[Wanted, ...]]:
        given = fields.scalar("python")
        nothing = SqlQuery(None, ""), ()
        if given is None:
            return nothing
        file, colon, function = given.text.rpartition(":")
        if not colon or not file.endswith(".py") or not function.isidentifier():
            hint = "write the file and the function: `python: flows/averages.py:averages`"
            self.report.add(given.place, f"`{given.text}` is not a function in a file", hint)
            return nothing
        document = self.files.read(Scalar(given.place, file, "text"), "Python file")
        if document is None:
            return nothing
        try:
            parameters = parameters_of(document, function)
        except NotAFunction as error:
            place = given.place if error.index is None else document.place(error.index)
            self.report.add(place, str(error), error.hint)
            return nothing
        named = [each for each in parameters if each.name not in (SESSION, ALL_INPUTS)]
        if declared is None and any(each.name == ALL_INPUTS for each in parameters):
            self.report.add(
                given.place,
                f"`{function}` takes `inputs`, but {fields.what} does not list them",
                "add `inputs: [NAME, ...]`, or name the parameters like the inputs",
            )
        if declared is not None:
            known = {each.name.lower() for each in declared}
            for each in named:
                if each.name.lower() not in known and not each.optional:
                    self.report.add(
                        document.place(each.index, len(each.name)),
                        f"`{each.name}` is not in the `inputs` of {fields.what}",
                        "add it there, or give the parameter a default",
                    )
        wanted = tuple(Wanted(each.name, document.place(each.index, len(each.name)), each.optional) for each in named)
        names = tuple(each.name for each in parameters)
        self.files.add_modules(file)
        return PythonFunction(self.files.text_path(file), function, names), wanted

    def _output(self, fields: Fields) -> tuple[Place, Output | None]:
        inner = fields.section("output", OUTPUT)
        if inner is None or not inner.readable:
            return fields.owner, None
        kinds = [kind for kind in ("topic", "table", "console") if kind in inner]
        if len(kinds) != 1:
            said = "has no target" if not kinds else f"has both `{kinds[0]}` and `{kinds[1]}`"
            self.report.add(
                inner.key_place(kinds[1]) if kinds else inner.owner,
                f"the output of {fields.what} {said}",
                "give one of: `topic: NAME`, `table: FOLDER`, `console: true`; another output is another flow",
            )
            return inner.owner, None
        kind = kinds[0]
        belongs = {
            "topic": ("topic", "key", "format", "mode", "options"),
            "table": ("table", "partition_by"),
            "console": ("console", "mode"),
        }
        for key in OUTPUT.names:
            if key in inner and key not in belongs[kind]:
                hint = "remove it: tables are always appended to" if key == "mode" else f"remove it; {kind}s have none"
                self.report.add(inner.key_place(key), f"`{key}` has no meaning with the output `{kind}`", hint)
        return inner.place(kind), self._read_output(inner, kind)

    def _read_output(self, inner: Fields, kind: str) -> Output | None:
        mode = inner.choice("mode", Mode, Mode.APPEND)
        if kind == "console":
            return ConsoleOutput(mode) if inner.flag("console") else None
        target = inner.scalar(kind)
        if target is None:
            return None
        if kind == "table":
            columns = tuple(each.text for each in inner.texts("partition_by"))
            return TableOutput(self.files.path(target.text), columns)
        check_topic(target, self.report)
        format_ = inner.choice("format", OutputFormat, OutputFormat.JSON)
        return TopicOutput(target.text, inner.text("key"), format_, mode, write_options(inner, "options"))
