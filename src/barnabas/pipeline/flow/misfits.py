"""Explains why a record does not match its schema, for the header of its dead letter.

Spark reports that something does not match, not what. Here Python reads the value once more and compares it with the
schema; only values that Spark has refused come here. Where Python finds nothing (Spark is stricter in details, such as
the format of a time), the text is general.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from barnabas.model.column_types import Array, Map, Primitive, Struct, Type
from barnabas.pipeline.flow.requirements import required_columns
from barnabas.pipeline.project.model import Format, Source

if TYPE_CHECKING:
    from pyspark.sql import Column

_SHOWN = 60
_INTEGERS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
_FORMATS = {"DATE": "dateformat", "TIMESTAMP": "timestampformat", "TIMESTAMP_NTZ": "timestampntzformat"}
UNKNOWN = "does not match the schema"


def explaining(source: Source) -> "Callable[[Column], Column]":
    """A Spark function from values to explanations."""
    import pyarrow as pa
    from pyspark.sql.pandas.functions import arrow_udf

    # Types by name: Spark reads from annotations what a function for its workers takes.
    def texts(values: pa.Array) -> pa.Array:
        return pa.array([misfit(value, source) for value in values.to_pylist()], pa.string())

    return arrow_udf(texts, "string")  # type: ignore[no-any-return, call-overload]  # by its stubs


def misfit(value: bytes | None, source: Source) -> str:
    """Why a value does not match its schema, in one line."""
    if value is None:
        return "the record has no value"
    if source.format is Format.AVRO:
        from barnabas.pipeline.flow.decode_avro import AvroReader

        return AvroReader.of(source).problem(value) or _required_problem(source) or UNKNOWN
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"not text in UTF-8: byte {error.start} is 0x{value[error.start]:02x}"
    if source.format is Format.JSON:
        return _json_problem(text, source) or UNKNOWN
    if source.format is Format.CSV:
        return _csv_problem(text, source) or UNKNOWN
    return UNKNOWN


def _json_problem(text: str, source: Source) -> str | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
        what = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deep"
        return f"not JSON: {what}{where}" if text.strip() else "not JSON: the value is empty"
    if not isinstance(found, dict):
        return f"expected a JSON object, not {_shown(found)}"
    for column in source.schema.columns:
        problem = _value_problem(found.get(column.name), column.type, column.name, _custom(source))
        if problem:
            return problem
    return _missing(found, source)


def _missing(fields: Mapping[str, object], source: Source) -> str | None:
    for name, reason in required_columns(source).items():
        if fields.get(name) is None:
            said = "null" if name in fields else "missing"
            return f"column `{name}` is {said}, and needed by {reason}"
    return None


def _required_problem(source: Source) -> str | None:
    names = ", ".join(f"`{name}`" for name in required_columns(source))
    return f"one of the columns {names} is null" if names else None


def _csv_problem(text: str, source: Source) -> str | None:
    options = {name.lower(): value for name, value in source.format_options.items()}
    delimiter = options.get("delimiter", options.get("sep", ","))
    line = text.rstrip("\r\n")
    if not line:
        return "the line is empty"
    if len(delimiter) != 1 or len(options.get("quote", '"')) != 1:
        return None
    try:
        rows = list(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter, quotechar=options.get("quote", '"')))
    except csv.Error as error:
        return f"not CSV: {error}"
    if len(rows) != 1:
        return f"{len(rows)} lines in one record, expected one"
    columns = source.schema.columns
    if len(rows[0]) != len(columns):
        return f"{len(rows[0])} fields, but the schema has {len(columns)} columns"
    nothing = options.get("nullvalue", "")
    fields = {column.name: None if cell == nothing else cell for column, cell in zip(columns, rows[0], strict=True)}
    for column in columns:
        cell = fields[column.name]
        problem = None if cell is None else _text_problem(cell, column.type, column.name, _custom(source))
        if problem:
            return problem
    return _missing(fields, source)


def _custom(source: Source) -> frozenset[str]:
    """Types whose format the project sets: Python cannot check those."""
    given = {name.lower() for name in source.format_options}
    return frozenset(name for name, option in _FORMATS.items() if option in given)


def _text_problem(cell: str, type_: Type, path: str, custom: frozenset[str]) -> str | None:
    """A field of CSV: everything is text there."""
    name = type_.name if isinstance(type_, Primitive) else ""
    value: object = cell
    try:
        if name in _INTEGERS:
            value = int(cell)
        elif name in ("FLOAT", "DOUBLE"):
            value = float(cell)
        elif name == "BOOLEAN":
            value = {"true": True, "false": False}.get(cell.lower(), cell)
    except ValueError:
        return _does_not_fit(path, cell, type_)
    return _value_problem(value, type_, path, custom)


def _value_problem(value: object, type_: Type, path: str, custom: frozenset[str]) -> str | None:
    if value is None:
        return None
    match type_:
        case Primitive():
            if _fits(value, type_, custom):
                return None
        case Array(element):
            if isinstance(value, list):
                places = ((item, element, f"{path}[{index}]") for index, item in enumerate(value))
                return _first_problem(places, custom)
        case Map(_, inner):
            if isinstance(value, dict):
                return _first_problem(((item, inner, f"{path}.{key}") for key, item in value.items()), custom)
        case Struct(fields):
            if isinstance(value, dict):
                for each in fields:
                    if not each.nullable and value.get(each.name) is None:
                        return f"column `{path}.{each.name}` is missing or null, and needed by the schema (NOT NULL)"
                return _first_problem(
                    ((value.get(each.name), each.type, f"{path}.{each.name}") for each in fields), custom
                )
    return _does_not_fit(path, value, type_)


def _first_problem(places: Iterable[tuple[object, Type, str]], custom: frozenset[str]) -> str | None:
    return next((found for each in places if (found := _value_problem(*each, custom))), None)


def _fits(value: object, type_: Primitive, custom: frozenset[str]) -> bool:
    name = type_.name
    if name in ("STRING", "VARIANT", "BINARY"):
        return True
    if name in ("CHAR", "VARCHAR"):
        return len(_as_text(value)) <= type_.arguments[0]
    if name == "BOOLEAN":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if name in _INTEGERS:
        return isinstance(value, int) and -(1 << _INTEGERS[name]) <= value < 1 << _INTEGERS[name]
    if name in ("FLOAT", "DOUBLE"):
        return isinstance(value, int | float) or value in ("NaN", "Infinity", "-Infinity", "INF", "-INF", "+INF")
    if name == "DECIMAL":
        return _fits_decimal(value, *type_.arguments)
    if name in custom:
        return isinstance(value, str | int)
    if name == "DATE":
        return _parses(date.fromisoformat, value) or isinstance(value, int)
    return _parses(datetime.fromisoformat, value) or (name == "TIMESTAMP" and isinstance(value, int))


def _fits_decimal(value: object, precision: int, scale: int) -> bool:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return False
    return number.is_finite() and number.adjusted() < precision - scale


def _parses(parse: Callable[[str], Any], value: object) -> bool:
    try:
        parse(value)  # type: ignore[arg-type]  # anything but text raises TypeError
    except (ValueError, TypeError):
        return False
    return True


def _does_not_fit(path: str, value: object, type_: Type) -> str:
    kind = str(type_)
    return f"column `{path}`: {_shown(value)} is not {'an' if kind[0] in 'AEIOU' else 'a'} {kind}"


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
