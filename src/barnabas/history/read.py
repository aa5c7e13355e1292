"""Reads rows of a history's files as Arrow batches, in the order of offsets."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from barnabas.history.errors import HistoryError

BATCH_ROWS: Final = 1 << 16


def read_file(
    path: Path | str,
    schema: Any,
    *,
    start: int,
    end: int,
    timestamp_ms: tuple[int | None, int | None] = (None, None),
    batch_rows: int = BATCH_ROWS,
) -> Iterator[Any]:
    """The rows with offsets from `start` up to, not including, `end`, with the columns of this Arrow schema.

    Columns that the file does not have are null: it was written with another declared schema. Row groups without
    matching offsets are not read. `timestamp_ms` bounds the timestamps, the second one exclusive.
    """
    try:
        file = pq.ParquetFile(path)
    except FileNotFoundError:
        raise HistoryError(
            f"{path} is in the manifest, but does not exist",
            "if barnabas archive retain removed it after this read was planned, read again; otherwise restore it from "
            "a backup",
        ) from None
    with file:
        there = set(file.schema_arrow.names)
        wanted = (
            {field.name for field in schema} | {"offset"} | ({"timestamp"} if timestamp_ms != (None, None) else set())
        )
        for batch in file.iter_batches(
            batch_size=batch_rows,
            row_groups=_groups(file, start, end),
            columns=sorted(wanted & there),
            use_threads=False,
        ):
            rows = _chosen(batch, start, end, timestamp_ms)
            if rows.num_rows:
                yield _as(rows, schema)


def _groups(file: Any, start: int, end: int) -> list[int]:
    """Offsets increase within a file, so most groups match completely or not at all."""
    found = []
    column = [file.schema.column(at).path for at in range(len(file.schema))].index("offset")
    for number in range(file.num_row_groups):
        statistics = file.metadata.row_group(number).column(column).statistics
        if statistics is None or not statistics.has_min_max or (statistics.min < end and statistics.max >= start):
            found.append(number)
    return found


def _chosen(batch: Any, start: int, end: int, timestamp_ms: tuple[int | None, int | None]) -> Any:
    offsets = batch.column("offset")
    if not len(offsets):
        return batch
    low, high = offsets[0].as_py(), offsets[-1].as_py()
    if low < start or high >= end:
        batch = batch.filter(pc.and_(pc.greater_equal(offsets, start), pc.less(offsets, end)))
    since, until = timestamp_ms
    if since is not None:
        batch = batch.filter(pc.greater_equal(batch.column("timestamp"), _moment(since)))
    if until is not None:
        batch = batch.filter(pc.less(batch.column("timestamp"), _moment(until)))
    return batch


def _moment(timestamp_ms: int) -> Any:
    return pa.scalar(timestamp_ms * 1000, pa.timestamp("us", tz="UTC"))


def _as(batch: Any, schema: Any) -> Any:
    names: Sequence[str] = batch.schema.names
    arrays = [
        batch.column(field.name).cast(field.type) if field.name in names else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
