"""Decodes JSON values into typed columns in Arrow, with the results of Spark's `from_json`.

A value that is not a JSON object has null in all typed columns; a field that is missing or has another type has null in
its own column. The row is always kept, and `decode_error` describes the error (a missing field is not an error).

Most batches are decoded at once by Arrow's reader. It stops at the first value that it cannot read, and counts objects,
not lines. So it only gets values that begin with { and end with } on one line, and where it stops, the batch is halved
until the few values are found that have to be decoded one by one.
"""

import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from barnabas.history.declared import ERROR_COLUMN, Column, arrow_fields

_ONE_BY_ONE: Final = 64
"""Smaller batches are not halved."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS: Final = range(-62_135_596_800, 253_402_300_800)
"""The years 1 to 9999, as in SQL and Python."""
_INTEGER_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_FLOAT_WORDS: Final = {
    "NaN": math.nan,
    "Infinity": math.inf,
    "+Infinity": math.inf,
    "INF": math.inf,
    "+INF": math.inf,
    "-Infinity": -math.inf,
    "-INF": -math.inf,
}


def decode(values: Any, columns: tuple[Column, ...]) -> Any:
    """A record batch with one row per value (a binary array), of the schema `arrow_fields(columns)`."""
    schema = arrow_fields(columns)
    pieces = _decoded(values, columns, schema)
    return pieces[0] if len(pieces) == 1 else pa.concat_batches(pieces) if pieces else _empty(schema)


def _decoded(values: Any, columns: tuple[Column, ...], schema: Any) -> list[Any]:
    if not len(values):
        return []
    fast = _all_at_once(values, columns, schema)
    if fast is not None:
        return [fast]
    if len(values) <= _ONE_BY_ONE:
        return [_one_by_one(values, columns, schema)]
    middle = len(values) // 2
    return [
        *_decoded(values.slice(0, middle), columns, schema),
        *_decoded(values.slice(middle), columns, schema),
    ]


def _empty(schema: Any) -> Any:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _all_at_once(values: Any, columns: tuple[Column, ...], schema: Any) -> Any:
    """None if a value is not simple enough for this method."""
    plain = pc.and_(
        pc.and_(pc.starts_with(values, b"{"), pc.ends_with(values, b"}")),
        pc.invert(pc.match_substring(values, b"\n")),
    )
    if values.null_count or not pc.all(plain).as_py():
        return None
    try:
        text = values.cast(pa.string())  # must be UTF-8
        lines = pc.binary_join(pa.ListArray.from_arrays([0, len(text)], text), "\n")[0].as_buffer()
        read = pj.read_json(
            pa.BufferReader(lines),
            read_options=pj.ReadOptions(use_threads=False, block_size=lines.size + 1),
            parse_options=pj.ParseOptions(
                explicit_schema=pa.schema([(column.name, _read_as(column, schema)) for column in columns]),
                unexpected_field_behavior="ignore",
            ),
        )
        if read.num_rows != len(values):
            return None
        arrays = [
            pa.array([], field.type) if not read.num_rows else _flat(read.column(field.name)).cast(field.type)
            for field in schema
            if field.name != ERROR_COLUMN
        ]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return pa.RecordBatch.from_arrays([*arrays, pa.nulls(len(values), pa.string())], schema=schema)


def _read_as(column: Column, schema: Any) -> Any:
    """Times are read as text: the cast is stricter, and refuses those without a time zone."""
    return pa.string() if column.type in ("TIMESTAMP", "DATE") else schema.field(column.name).type


def _flat(chunked: Any) -> Any:
    combined = chunked.combine_chunks()
    return combined if not isinstance(combined, pa.ChunkedArray) else pa.concat_arrays(combined.chunks)


# --- one by one


def _one_by_one(values: Any, columns: tuple[Column, ...], schema: Any) -> Any:
    rows = [_row(value, columns) for value in values.to_pylist()]
    arrays = [pa.array([row[at] for row in rows], field.type) for at, field in enumerate(schema)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _row(value: bytes | None, columns: tuple[Column, ...]) -> list[Any]:
    nothing: list[Any] = [None] * len(columns)
    if value is None:
        return [*nothing, None]
    try:
        found = json.loads(value.decode("utf-8"), strict=True)
    except (ValueError, RecursionError) as error:
        return [*nothing, f"not JSON: {str(error)[:200]}"]
    if not isinstance(found, dict):
        return [*nothing, f"not a JSON object, but {_name_of(found)}"]
    row: list[Any] = []
    wrong: list[str] = []
    for column in columns:
        given = found.get(column.name)
        try:
            row.append(None if given is None else _CONVERTERS[column.type](given, column))
        except (ValueError, OverflowError) as error:
            row.append(None)
            wrong.append(f"{column.name}: {str(error)[:200]}")
    return [*row, "; ".join(wrong) or None]


def _name_of(value: object) -> str:
    return {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}.get(type(value), "a number")


def _wrong(value: object, column: Column) -> ValueError:
    return ValueError(f"{json.dumps(value, ensure_ascii=False)[:80]} is not of the type {column.type}")


def _boolean(value: object, column: Column) -> bool:
    if isinstance(value, bool):
        return value
    raise _wrong(value, column)


def _integer(value: object, column: Column) -> int:
    bound = 1 << (_INTEGER_BITS[column.type] - 1)
    if isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound:
        return value
    raise _wrong(value, column)


def _number(value: object, column: Column) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and value in _FLOAT_WORDS:
        return _FLOAT_WORDS[value]
    raise _wrong(value, column)


def _string(value: object, column: Column) -> str:
    if isinstance(value, str):
        value.encode("utf-8")  # half of a surrogate pair is not valid text
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _timestamp(value: object, column: Column) -> int:
    """Microseconds. Text without a zone is UTC; a whole number is seconds."""
    if isinstance(value, int) and not isinstance(value, bool) and value in _SECONDS:
        return value * 1_000_000
    if not isinstance(value, str):
        raise _wrong(value, column)
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        raise _wrong(value, column) from None
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (zoned - _EPOCH) // timedelta(microseconds=1)


def _date(value: object, column: Column) -> date:
    if not isinstance(value, str):
        raise _wrong(value, column)
    try:
        return date.fromisoformat(value.strip())
    except ValueError:
        raise _wrong(value, column) from None


_CONVERTERS: Final[dict[str, Callable[[object, Column], Any]]] = {
    "BOOLEAN": _boolean,
    "TINYINT": _integer,
    "SMALLINT": _integer,
    "INT": _integer,
    "BIGINT": _integer,
    "FLOAT": _number,
    "DOUBLE": _number,
    "STRING": _string,
    "TIMESTAMP": _timestamp,
    "DATE": _date,
}
