"""Rows with typed columns, from the files of a history or decoded from the log in the same way."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from barnabas.history.declared import CONNECTOR_COLUMNS, Column, arrow_fields
from barnabas.history.decode import decode
from barnabas.history.read import read_file
from barnabas.spark.arrow.schema import arrow_schema
from barnabas.spark.source.history import FileRange


def schema_of(columns: tuple[str, ...], typed: tuple[Column, ...]) -> Any:
    """The Arrow schema of these columns, connector's and typed ones, in this order."""
    own = arrow_schema(CONNECTOR_COLUMNS)
    return pa.schema([own.field(name) if name in own.names else arrow_fields(typed).field(name) for name in columns])


def read_archived(
    one: FileRange,
    columns: tuple[str, ...],
    typed: tuple[Column, ...],
    timestamp_ms: tuple[int | None, int | None] = (None, None),
) -> Iterator[Any]:
    return read_file(one.file, schema_of(columns, typed), start=one.start, end=one.end, timestamp_ms=timestamp_ms)


def with_typed(
    batches: Iterable[Any], columns: tuple[str, ...], typed: tuple[Column, ...], current: tuple[Column, ...]
) -> Iterator[Any]:
    """Batches of the log with at least `value`, decoded to the current columns, as the archiver does it."""
    schema = schema_of(columns, typed)
    wanted = [name for name in columns if name not in CONNECTOR_COLUMNS]
    for batch in batches:
        if not wanted:
            yield batch
            continue
        yield pa.RecordBatch.from_arrays(_arrays(batch, schema, current), schema=schema)


def _arrays(batch: Any, schema: Any, current: tuple[Column, ...]) -> list[Any]:
    found = decode(batch.column("value"), current) if current else None
    known = () if found is None else found.schema.names
    return [
        batch.column(field.name)
        if field.name in CONNECTOR_COLUMNS
        else found.column(field.name)
        if found is not None and field.name in known
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
