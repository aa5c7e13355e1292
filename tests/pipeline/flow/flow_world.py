"""Projects and records for tests of flows."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from barnabas.model.ddl import parse_ddl
from barnabas.pipeline.project.model import Format, Framing, Source, Start
from barnabas.pipeline.project.schemas import Schema
from barnabas.spark.arrow.schema import COLUMN_TYPES, arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

READINGS = """\
name: plant
log: {bootstrap: "localhost:9092"}
sources:
  readings:
    topic: telemetry
    format: json
    schema: "id STRING, device STRING, at TIMESTAMP, value DOUBLE"
"""


def source_of(format_: Format = Format.JSON, *, schema: str | Schema, **more: Any) -> Source:
    """A source with nothing but its schema, and what is given."""
    parts: dict[str, Any] = {
        "framing": Framing.NONE,
        "start": Start.EARLIEST,
        "options": {},
        "format_options": {},
        "late": None,
        "watermark": None,
        "deduplicate": None,
        "expect": (),
        **more,
    }
    columns = Schema(parse_ddl(schema)) if isinstance(schema, str) else schema
    return Source(name="events", topic="events", format=format_, schema=columns, **parts)


def at(minutes: float) -> str:
    """A time so many minutes after noon, as text in a record."""
    return (NOON + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def batch_of(
    values: Sequence[str | bytes | None],
    *,
    first_offset: int = 0,
    minutes: float = 0,
    headers: Sequence[tuple[str, bytes]] | None = None,
) -> Any:
    """Records of the topic `telemetry`, appended so many minutes after noon."""
    count = len(values)
    columns: dict[str, list[Any]] = {
        "key": [b"k"] * count,
        "value": [value.encode() if isinstance(value, str) else value for value in values],
        "topic": ["telemetry"] * count,
        "partition": [0] * count,
        "offset": list(range(first_offset, first_offset + count)),
        "timestamp": [NOON + timedelta(minutes=minutes)] * count,
        "timestampType": [0] * count,
        "headers": [None if headers is None else [{"key": name, "value": value} for name, value in headers]] * count,
    }
    arrays = [pa.array(columns[name], type_) for name, type_ in COLUMN_TYPES.items()]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(tuple(COLUMN_TYPES)))


def write_batches(folder: Path, batches: Sequence[Any]) -> None:
    """Write them as files that a stream reads one by one."""
    import os

    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    for number, batch in enumerate(batches):
        path = folder / f"{number:03}.parquet"
        pq.write_table(pa.Table.from_batches([batch]), path, coerce_timestamps="us")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))  # the older file is read first


def headers_of(letter: Any) -> dict[str, str]:
    return {header.key: bytes(header.value).decode() for header in letter.headers}


def letters_of(frame: "DataFrame") -> dict[int, dict[str, str]]:
    """The headers of each dead letter, by the offset of its record."""
    found = [headers_of(row) for row in frame.collect()]
    return {int(headers["barnabas.dead.offset"]): headers for headers in found}
