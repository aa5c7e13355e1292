"""Converts Arrow batches from Spark to plain columns: one binary array per column, times in milliseconds.

Strings come as strings, large strings, views or dictionaries, and so does binary. A cast converts all of them; from
string to binary it copies nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from barnabas.spark.arrow.encode import Columns
from barnabas.spark.arrow.encode_headers import lengths_of
from barnabas.spark.arrow.encode_varints import Ints
from barnabas.spark.arrow.numbers import is_valid
from barnabas.spark.errors import UserError
from barnabas.spark.sink.schema import HEADERS, KEY, PARTITION, TIMESTAMP, TOPIC, VALUE

_HEADERS_TYPE: Final = pa.list_(pa.struct([("key", pa.binary()), ("value", pa.binary())]))
_RECORD_OVERHEAD_BYTES: Final = 16  # lengths and deltas, about


@dataclass(frozen=True)
class Rows:
    columns: Columns
    topics: Any | None
    """The column `topic`, if it is used."""
    partitions: Ints | None
    """The column `partition`; -1: null."""
    sizes: Ints
    """About how many bytes each row takes."""

    def __len__(self) -> int:
        return len(self.columns)

    def slice(self, begin: int, end: int) -> "Rows":
        columns = self.columns
        return Rows(
            Columns(
                value=columns.value[begin:end],
                key=None if columns.key is None else columns.key[begin:end],
                headers=None if columns.headers is None else columns.headers[begin:end],
                timestamps_ms=None if columns.timestamps_ms is None else columns.timestamps_ms[begin:end],
            ),
            None if self.topics is None else self.topics[begin:end],
            None if self.partitions is None else self.partitions[begin:end],
            self.sizes[begin:end],
        )


def rows_of(batch: Any, *, has_topic: bool, now_ms: int) -> Rows:
    """The rows of a RecordBatch or a Table; `has_topic`: an option names the topic, and the column is ignored."""
    names = batch.schema.names

    def column(name: str) -> Any | None:
        return _one_array(batch.column(names.index(name))) if name in names else None

    value, key, headers = _binary(column(VALUE)), _binary(column(KEY)), _headers(column(HEADERS))
    sizes = lengths_of(pc.binary_length(value), null=0) + _RECORD_OVERHEAD_BYTES
    if key is not None:
        sizes += lengths_of(pc.binary_length(key), null=0)
    if headers is not None:
        sizes += _header_sizes(headers)
    columns = Columns(value=value, key=key, headers=headers, timestamps_ms=_timestamps(column(TIMESTAMP), now_ms))
    topics = None if has_topic else _topics(column(TOPIC))
    return Rows(columns, topics, _partitions(column(PARTITION)), sizes)


def in_pieces(rows: Rows, piece_bytes: int) -> Iterator[Rows]:
    """Cut, so that no piece takes much more than this."""
    ends = np.cumsum(rows.sizes)
    first = 0
    while first < len(rows):
        used = int(ends[first - 1]) if first else 0
        past = max(int(np.searchsorted(ends, used + piece_bytes, side="right")), first + 1)
        yield rows if first == 0 and past >= len(rows) else rows.slice(first, past)
        first = past


def gathered(batches: Iterable[Any], least_bytes: Callable[[], int]) -> Iterator[Any]:
    """Joins small neighbouring batches: many partitions need many rows at a time."""
    held: list[Any] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        size += batch.nbytes
        if size >= least_bytes():
            yield held[0] if len(held) == 1 else pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield held[0] if len(held) == 1 else pa.Table.from_batches(held)


def _one_array(column: Any) -> Any:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # what pyarrow makes of no chunk, or of more than 2 GB
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
    return column


def _binary(column: Any | None) -> Any | None:
    if column is None or (column.null_count == len(column) != 0 and pa.types.is_null(column.type)):
        return None
    return column if column.type == pa.binary() else column.cast(pa.binary())


def _headers(column: Any | None) -> Any | None:
    if column is None or column.null_count == len(column):
        return None
    return column if column.type == _HEADERS_TYPE else column.cast(_HEADERS_TYPE)


def _header_sizes(headers: Any) -> Ints:
    counts = lengths_of(pc.list_value_length(headers), null=0)
    entries = headers.flatten().flatten()
    lengths = sum(lengths_of(pc.binary_length(part), null=0) for part in entries) + np.full(int(counts.sum()), 2)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    borders = np.concatenate([[0], np.cumsum(counts)])
    return np.asarray(np.diff(ends[borders]), np.int64)


def _timestamps(column: Any | None, now_ms: int) -> Ints | None:
    if column is None or column.null_count == len(column):
        return None
    if pa.types.is_timestamp(column.type):
        column = pc.floor_temporal(column, unit="millisecond").cast(pa.timestamp("ms", column.type.tz)).cast(pa.int64())
    times = lengths_of(column, null=now_ms)
    if int(times.min()) < 0:
        raise UserError(
            f"Invalid timestamp: {int(times.min())}. A record's timestamp cannot be before 1970.",
            "remove such rows, or set the timestamp to null: the record then gets the time of writing",
        )
    return times


def _topics(column: Any | None) -> Any:
    if column is None:  # the schema was checked, so it exists
        raise AssertionError("no column topic")
    if column.null_count:
        raise UserError(
            "The Kafka message data sent to the producer contains a null topic. Use the `topic` option for setting a "
            "default topic.",
            'add option("topic", "NAME"), which is then used for all rows, or fill the column: coalesce(topic, ...)',
        )
    return column


def _partitions(column: Any | None) -> Ints | None:
    if column is None or column.null_count == len(column):
        return None
    given = is_valid(column)
    numbers = lengths_of(column, null=-1)
    if (numbers[given] < 0).any():
        raise UserError(
            f"Invalid partition: {int(numbers[given].min())}. A partition number cannot be negative.",
            "correct the column partition, or set it to null: the partition is then chosen by the key",
        )
    return numbers
