"""Reads `sources.NAME` and `tables.NAME`: where rows come from, and their columns."""

import json
from dataclasses import dataclass

from barnabas.model.column_types import TIMESTAMP, Primitive
from barnabas.model.ddl import NotDdl, parse_ddl
from barnabas.pipeline.project import avro
from barnabas.pipeline.project.fields import Fields
from barnabas.pipeline.project.files import Files
from barnabas.pipeline.project.keys import DEDUPLICATE, EXPECT, LATE, SOURCE, TABLE, WATERMARK
from barnabas.pipeline.project.model import (
    METADATA_COLUMNS,
    REGISTRY,
    Deduplicate,
    Expectation,
    Format,
    Framing,
    Late,
    Otherwise,
    Source,
    Start,
    Table,
    TableFormat,
    Watermark,
)
from barnabas.pipeline.project.names import check_name, check_topic
from barnabas.pipeline.project.nodes import Entries, Items, Node, Scalar
from barnabas.pipeline.project.options import read_options
from barnabas.pipeline.project.problems import Place, Report
from barnabas.pipeline.project.schemas import BYTES, TEXT, Schema
from barnabas.pipeline.project.sql_tables import table_names
from barnabas.pipeline.project.sql_tokens import NotSql
from barnabas.spark.options.names import nearest

_DDL_HINT = "write columns as `name TYPE, name TYPE`, for example `id STRING, at TIMESTAMP, value DOUBLE`"
_AVRO_HINT = 'write an Avro record: {"type": "record", "name": "Reading", "fields": [...]}'
_OURS = "__barnabas"
_TIME_TYPES = (TIMESTAMP, Primitive("TIMESTAMP_NTZ"))


@dataclass(frozen=True)
class SourceReader:
    report: Report
    files: Files

    def source(self, name: Scalar, node: Node) -> Source:
        check_name(name, "source", self.report)
        fields = Fields(self.report, SOURCE, node, name.place, f"source `{name.text}`")
        topic = fields.scalar("topic")
        if topic is not None:
            check_topic(topic, self.report)
        format_ = fields.chosen("format", Format)
        schema = self._schema_of_source(fields, format_)
        self._check_what_fits(fields, format_)
        self._check_reserved(fields, schema)
        late = self._late(fields, schema)
        watermark = self._watermark(fields, schema)
        if late and watermark and watermark.delay < late.after:
            inner = fields.section("watermark", WATERMARK)
            self.report.add(
                inner.place("delay") if inner else name.place,
                f"the watermark's delay ({watermark.delay}) is shorter than `late.after` ({late.after}): rows that are "
                "not late would be dropped",
                f"write `delay: {late.after}` or more",
            )
        return Source(
            name=name.text,
            topic=topic.text if topic else "",
            format=format_ or Format.BINARY,
            schema=schema or Schema(()),
            framing=fields.choice("framing", Framing, Framing.NONE),
            start=fields.choice("start", Start, Start.EARLIEST),
            options=read_options(fields, "options"),
            format_options={key: value.text for key, value in fields.options("format_options").items()},
            late=late,
            watermark=watermark,
            deduplicate=self._deduplicate(fields, schema, has_watermark=watermark is not None),
            expect=expectations(fields),
        )

    def table(self, name: Scalar, node: Node) -> Table:
        check_name(name, "table", self.report)
        fields = Fields(self.report, TABLE, node, name.place, f"table `{name.text}`")
        given = [each for each in TableFormat if each.value in fields]
        if fields.readable and len(given) != 1:
            said = "has no files" if not given else f"has both `{given[0]}` and `{given[1]}`"
            place = fields.key_place(given[1]) if given else name.place
            self.report.add(place, f"table `{name.text}` {said}", "give one of: parquet, csv, json")
        format_ = given[0] if given else TableFormat.PARQUET
        path = fields.scalar(format_)
        if path is not None:
            self.files.check_there(path, "file or folder")
        schema = self._ddl(fields.scalar("schema")) if "schema" in fields else None
        if given and format_ is not TableFormat.PARQUET and "schema" not in fields:
            self.report.add(name.place, f"table `{name.text}` has no `schema`, which {format_} needs", _DDL_HINT)
        return Table(name.text, format_, self.files.path(path.text) if path else "", schema)

    def _schema_of_source(self, fields: Fields, format_: Format | None) -> Schema | None:
        if format_ is None:  # then the kind of schema is unknown
            return None
        if format_ in (Format.TEXT, Format.BINARY):
            return TEXT if format_ is Format.TEXT else BYTES
        if "schema" in fields and "schema_file" in fields:
            self.report.add(fields.key_place("schema_file"), "there are both `schema` and `schema_file`", "remove one")
        elif "schema" in fields:
            inline = fields.node("schema")
            if format_ is Format.AVRO and isinstance(inline, Entries | Items):
                return self._avro(json.dumps(_plain(inline)), inline.place)
            text = fields.scalar("schema")
            if format_ is Format.AVRO:
                return self._avro(text.text, text.place) if text else None
            return self._ddl(text)
        elif "schema_file" in fields:
            return self._schema_in_file(fields, format_)
        else:
            hint = _AVRO_HINT if format_ is Format.AVRO else _DDL_HINT
            self.report.add(fields.owner, f"{fields.what} has no `schema`, which {format_} needs", hint)
        return None

    def _schema_in_file(self, fields: Fields, format_: Format) -> Schema | None:
        name = fields.scalar("schema_file")
        document = self.files.read(name, "schema file") if name else None
        if document is None:
            return None
        if format_ is Format.AVRO:
            return self._avro(document.text, document.place(0))
        return self._ddl(Scalar(document.place(0), document.text, "text", 0))

    def _ddl(self, text: Scalar | None) -> Schema | None:
        if text is None:
            return None
        try:
            return Schema(parse_ddl(text.text))
        except NotDdl as error:
            self.report.add(text.place_of(error.position, error.length), f"not a schema: {error}", _DDL_HINT)
            return None

    def _avro(self, text: str, place: Place) -> Schema | None:
        try:
            return avro.schema_of(text)
        except avro.NotAvro as error:
            self.report.add(place, f"not an Avro schema: {error}", _AVRO_HINT)
            return None

    def _check_what_fits(self, fields: Fields, format_: Format | None) -> None:
        only_for = {
            "schema": (Format.JSON, Format.CSV, Format.AVRO),
            "schema_file": (Format.JSON, Format.CSV, Format.AVRO),
            "framing": (Format.AVRO,),
            "format_options": (Format.JSON, Format.CSV, Format.AVRO),
        }
        for key, formats in only_for.items():
            if key in fields and format_ is not None and format_ not in formats:
                hint = f"remove it, or use a format that has it: {', '.join(formats)}"
                self.report.add(fields.key_place(key), f"`{key}` has no meaning with the format {format_}", hint)

        options = fields.options("format_options") if format_ is Format.AVRO and "format_options" in fields else {}
        for name, value in options.items():
            if name != REGISTRY:
                message = f"`{name}` is not a format option of avro"
                self.report.add(value.place, message, f"the only one is `{REGISTRY}`, the address of a schema registry")
            elif not value.text.startswith(("http://", "https://")):
                self.report.add(
                    value.place, f"`{value.text}` is not an address", f"write `{REGISTRY}: http://HOST:8081`"
                )
            elif fields.choice("framing", Framing, Framing.NONE) is not Framing.CONFLUENT:
                message = f"`{REGISTRY}` is only used if each value begins with a schema id"
                self.report.add(value.place, message, "add `framing: confluent`")

    def _check_reserved(self, fields: Fields, schema: Schema | None) -> None:
        for column in schema.columns if schema else ():
            if column.name.lower() in METADATA_COLUMNS or column.name.lower().startswith(_OURS):
                self.report.add(
                    fields.place("schema" if "schema" in fields else "schema_file"),
                    f"the column `{column.name}` has a reserved name",
                    f"rename it; reserved are: {', '.join(METADATA_COLUMNS)}",
                )

    def _late(self, fields: Fields, schema: Schema | None) -> Late | None:
        inner = fields.section("late", LATE)
        if inner is None:
            return None
        column, after = self._time_column(inner, schema), inner.duration("after")
        return Late(column, after) if column and after else None

    def _watermark(self, fields: Fields, schema: Schema | None) -> Watermark | None:
        inner = fields.section("watermark", WATERMARK)
        if inner is None:
            return None
        column, delay = self._time_column(inner, schema), inner.duration("delay")
        return Watermark(column, delay) if column and delay else None

    def _deduplicate(self, fields: Fields, schema: Schema | None, *, has_watermark: bool) -> Deduplicate | None:
        inner = fields.section("deduplicate", DEDUPLICATE)
        if inner is None:
            return None
        by = inner.texts("by")
        for column in by:
            self._check_column(column, schema)
        within = inner.duration("within")
        if not has_watermark and "watermark" not in fields:
            self.report.add(
                inner.owner,
                f"{fields.what} needs a `watermark`: without one it would remember rows for ever",
                "add one, for example: `watermark: {column: at, delay: 1 minute}`",
            )
        return Deduplicate(tuple(column.text for column in by), within) if by and within else None

    def _time_column(self, fields: Fields, schema: Schema | None) -> str | None:
        name = fields.scalar("column")
        if name is None:
            return None
        if schema is None or name.text == "_timestamp":
            return name.text
        if not self._check_column(name, schema):
            return name.text
        column = schema.column(name.text)
        type_ = column.type if column else "no time"
        if type_ not in _TIME_TYPES:
            self.report.add(
                name.place,
                f"the column `{name.text}` is {type_}, not a time",
                "name a column of the type TIMESTAMP, or `_timestamp`, the timestamp of the record",
            )
        return name.text

    def _check_column(self, name: Scalar, schema: Schema | None) -> bool:
        if schema is None or schema.column(name.text) is not None or name.text in METADATA_COLUMNS:
            return True
        guess = nearest(name.text, schema.names)
        hint = f"did you mean `{guess}`?" if guess else f"it has: {', '.join(schema.names)}"
        self.report.add(name.place, f"the schema has no column `{name.text}`", hint)
        return False


def expectations(fields: Fields) -> tuple[Expectation, ...]:
    found = []
    for name, node in fields.sections("expect"):
        check_name(name, "rule", fields.report)
        if isinstance(node, Scalar) and node.kind == "text" and node.text.strip():
            _check_rule(node, fields.report)
            found.append(Expectation(name.text, node.text, Otherwise.WARN, node))
            continue
        inner = Fields(fields.report, EXPECT, node, name.place, f"rule `{name.text}`")
        rule = inner.scalar("rule")
        otherwise = inner.choice("otherwise", Otherwise, Otherwise.WARN)
        if rule:
            _check_rule(rule, fields.report)
            found.append(Expectation(name.text, rule.text, otherwise, rule))
    return tuple(found)


def _check_rule(rule: Scalar, report: Report) -> None:
    """What can be checked without Spark: unclosed strings and parentheses, a second statement."""
    try:
        table_names(rule.text)
    except NotSql as error:
        report.add(rule.place_of(error.position), f"not a condition: {error}", error.hint)


def _plain(node: Node) -> object:
    if isinstance(node, Entries):
        return {name: _plain(value) for name, (_, value) in node.entries.items()}
    if isinstance(node, Items):
        return [_plain(item) for item in node.items]
    if node.kind == "a number" and node.text.lstrip("-").isascii() and node.text.lstrip("-").isdigit():
        return int(node.text) if len(node.text) < 20 else node.text
    # A bare null means nothing in YAML, but is the name of a type in an Avro schema.
    return "null" if node.kind == "nothing" else node.text
