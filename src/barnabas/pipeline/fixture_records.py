"""Rows of a fixture as records, written as the source's format wants them: so a test decodes what a run decodes.

A row may say more than its columns: `_key`, `_timestamp`, `_partition`, `_offset`, `_headers`, and `_value`, which is
the whole value as text (or null), for records that fit no schema. Without `_timestamp`, the log took the record when it
happened: at the time in the column of `late` or `watermark`.
"""

import csv
import dataclasses
import io
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from barnabas.pipeline.fixture_files import Line
from barnabas.pipeline.flow.decode_avro import AvroReader
from barnabas.pipeline.project.model import METADATA_COLUMNS, Format, Framing, Source
from barnabas.pipeline.project.problems import Report
from barnabas.pipeline.project.types import Array, Map, Primitive, Struct, Type
from barnabas.spark.arrow.schema import COLUMN_TYPES, arrow_schema

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_VALUE = "_value"
_OWN = (*METADATA_COLUMNS, _VALUE)
_FRAME = bytes(5)


class NotARow(ValueError):
    """What is wrong with a line."""


def without_registry(source: Source) -> Source:
    """In tests the schema of a value is the declared one; nobody is asked."""
    return dataclasses.replace(source, format_options={}) if source.format is Format.AVRO else source


def records_of(source: Source, lines: Sequence[Line], report: Report) -> Any:
    """An Arrow batch with the connector's columns."""
    import pyarrow as pa

    rows = []
    for index, line in enumerate(lines):
        try:
            rows.append(_record(source, line, index))
        except NotARow as error:
            report.add(line.place, str(error), "look at the source's schema in pipeline.yaml")
    columns = {name: [row[name] for row in rows] for name in COLUMN_TYPES}
    arrays = [pa.array(columns[name], type_) for name, type_ in COLUMN_TYPES.items()]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(tuple(COLUMN_TYPES)))


def _record(source: Source, line: Line, index: int) -> dict[str, Any]:
    row = line.value
    own = {name: row[name] for name in _OWN if name in row} if isinstance(row, dict) else {}
    body = {name: value for name, value in row.items() if name not in own} if own and isinstance(row, dict) else row
    if _VALUE in own:
        value = None if own[_VALUE] is None else _text(own[_VALUE], _VALUE).encode()
    elif source.format is Format.JSON:
        value = (json.dumps(body) if own else line.text).encode()
    else:
        value = _written(source, body)
    key = own.get("_key")
    return {
        "key": None if key is None else _text(key, "_key").encode(),
        "value": value,
        "topic": own.get("_topic", source.topic),
        "partition": _number(own.get("_partition", 0), "_partition"),
        "offset": _number(own.get("_offset", index), "_offset"),
        "timestamp": _timestamp(source, own, body, index),
        "timestampType": 0,
        "headers": _headers(own.get("_headers")),
    }


def _timestamp(source: Source, own: dict[str, Any], body: object, index: int) -> datetime:
    if "_timestamp" in own:
        return _time(own["_timestamp"], "_timestamp")
    for section in (source.late, source.watermark):
        if section is not None and isinstance(body, dict) and isinstance(body.get(section.column), str):
            try:
                return _time(body[section.column], section.column)
            except NotARow:
                break  # it may be there to fit no schema
    return _EPOCH + timedelta(milliseconds=index)


def _written(source: Source, body: object) -> bytes:
    if source.format in (Format.TEXT, Format.BINARY):
        value = body.get("value") if isinstance(body, dict) else body
        return _text(value, "value").encode()
    if source.format is Format.CSV and isinstance(body, str):
        return body.encode()
    if not isinstance(body, dict):
        raise NotARow(f"a row of source `{source.name}` must be an object, not {json.dumps(body)[:60]}")
    unknown = [name for name in body if name not in source.schema.names]
    if unknown:
        raise NotARow(f"source `{source.name}` has no column `{unknown[0]}`")
    if source.format is Format.CSV:
        return _csv_line(source, body)
    return _avro(source, body)


def _csv_line(source: Source, body: dict[str, Any]) -> bytes:
    options = {name.lower(): value for name, value in source.format_options.items()}
    line = io.StringIO()
    writer = csv.writer(
        line, delimiter=options.get("delimiter", options.get("sep", ",")), quotechar=options.get("quote", '"')
    )
    cells = (body.get(name) for name in source.schema.names)
    writer.writerow(["" if cell is None else cell if isinstance(cell, str) else json.dumps(cell) for cell in cells])
    return line.getvalue().rstrip("\r\n").encode()


def _avro(source: Source, body: dict[str, Any]) -> bytes:
    try:
        row = {column.name: _typed(body.get(column.name), column.type) for column in source.schema.columns}
        written = AvroReader.of(source).written(row)
    except (ValueError, TypeError, AttributeError, KeyError, ArithmeticError) as error:
        raise NotARow(f"this row cannot be written as Avro: {error}") from None
    return (_FRAME if source.framing is Framing.CONFLUENT else b"") + written


def _typed(value: Any, type_: Type) -> Any:
    """From JSON to what fastavro takes."""
    if value is None:
        return None
    match type_:
        case Primitive("TIMESTAMP"):
            return _time(value, "a timestamp")
        case Primitive("TIMESTAMP_NTZ"):
            return datetime.fromisoformat(value)
        case Primitive("DATE"):
            return date.fromisoformat(value)
        case Primitive("DECIMAL"):
            return Decimal(str(value))
        case Primitive("BINARY"):
            return str(value).encode()
        case Array(element):
            return [_typed(item, element) for item in value]
        case Map(_, inner):
            return {key: _typed(item, inner) for key, item in value.items()}
        case Struct(fields):
            return {field.name: _typed(value.get(field.name), field.type) for field in fields}
        case _:
            return value


def _time(value: object, name: str) -> datetime:
    if isinstance(value, int) and not isinstance(value, bool):
        return datetime.fromtimestamp(value / 1000, UTC)
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        raise NotARow(f"`{name}` is not a time: {json.dumps(value)}") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise NotARow(f"`{name}` must be text, not {json.dumps(value)[:60]}")
    return value


def _number(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise NotARow(f"`{name}` must be a number, not {json.dumps(value)[:60]}")
    return value


def _headers(value: object) -> list[dict[str, Any]] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise NotARow("`_headers` must be an object with names and texts")
    return [{"key": name, "value": _text(text, f"_headers.{name}").encode()} for name, text in value.items()]
