"""The plain version of the decoder: one record at a time, with the decoder of `barnabas.records`."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from barnabas.records.batch import split_batches
from barnabas.records.control import read_marker
from barnabas.records.record import decode_records
from barnabas.spark.arrow.schema import arrow_schema

ALL_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
MAX_BYTES = 1 << 24


def plain_rows(
    data: bytes, *, first_offset: int, end_offset: int, aborted: Iterable[tuple[int, int]] = ()
) -> list[dict[str, Any]]:
    """Every visible record of the whole batches as a row of Python values, timestamps in milliseconds."""
    rows: list[dict[str, Any]] = []
    waiting = sorted(aborted, key=lambda transaction: transaction[1])
    dead: set[int] = set()
    for batch in split_batches(data):
        header = batch.header
        dead |= {producer_id for producer_id, first in waiting if first <= header.last_offset}
        waiting = [transaction for transaction in waiting if transaction[1] > header.last_offset]
        if header.is_control:
            marker = read_marker(batch) if header.producer_id in dead else None
            if marker is not None and not marker.commit:
                dead.discard(header.producer_id)
            continue
        if header.is_transactional and header.producer_id in dead:
            continue
        if header.record_count == 0:
            continue
        rows += [
            {
                "key": record.key,
                "value": record.value,
                "topic": "t",
                "partition": 3,
                "offset": record.offset,
                "timestamp": record.timestamp,
                "timestampType": int(header.is_log_append_time),
                "headers": [
                    {"key": name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), "value": value}
                    for name, value in record.headers
                ]
                or None,
            }
            for record in decode_records(batch, max_bytes=MAX_BYTES)
            if first_offset <= record.offset < end_offset
        ]
    return rows


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> Any:
    """The rows as the Arrow batch that the decoder must make of them."""
    schema = arrow_schema(columns)
    arrays = []
    for field in schema:
        values = [row[field.name] for row in rows]
        if field.name == "timestamp":
            arrays.append(pa.array([1000 * value for value in values], pa.int64()).view(field.type))
        else:
            arrays.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
