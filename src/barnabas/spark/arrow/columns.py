"""Reads the fields of many records as Arrow columns; only requested columns are read.

`Rows` is a step of decoding: records of any number of batches, in one buffer. Its fields are read in order with one
cursor, each field for all records at once. Keys, values and headers are not copied in Python: an Arrow array is laid
over the buffer, with the requested slices and the gaps between them as elements, and `take` selects the slices.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from barnabas.records.batch import LOG_APPEND_TIME_FLAG
from barnabas.spark.arrow.numbers import arrow_bools, arrow_numbers, arrow_scalar
from barnabas.spark.arrow.schema import HEADER_TYPE, HEADERS_TYPE, TIMESTAMP_TYPE, arrow_schema
from barnabas.spark.arrow.varints import Bools, Cursor, Ints, Octets
from barnabas.wire.errors import InvalidRecord

_INT64_MAX: Final = (1 << 63) - 1
_TIMESTAMP_MS_MAX: Final = _INT64_MAX // 1000
_US_PER_MS: Final = 1000
_CONSTANT_ROWS: Final = 1 << 16


class Wanted(NamedTuple):
    """The requested columns and records."""

    topic: str
    partition: int
    columns: tuple[str, ...]
    first_offset: int
    end_offset: int
    timestamp_ms_min: int | None = None
    timestamp_ms_end: int | None = None  # exclusive

    @property
    def by_timestamp(self) -> bool:
        return self.timestamp_ms_min is not None or self.timestamp_ms_end is not None


class Rows(NamedTuple):
    """Records of neighbouring batches. The last columns have one row per batch, the others one per record."""

    starts: Ints
    ends: Ints
    counts: Ints
    """Records of each batch; at least one."""
    base_offsets: Ints
    last_offset_deltas: Ints
    attributes: Ints
    base_timestamps: Ints
    max_timestamps: Ints

    def spread(self, column: Ints) -> Ints:
        """Repeat a column of batches for each of their records."""
        return np.repeat(column, self.counts)

    @property
    def append_time(self) -> Bools:
        """Which batches have LogAppendTime."""
        is_set: Bools = self.attributes & LOG_APPEND_TIME_FLAG != 0
        return is_set


def build(octets: Octets, rows: Rows, wanted: Wanted) -> Any:
    """An Arrow RecordBatch; None if no record is requested. InvalidRecord if fields exceed their record."""
    columns = wanted.columns
    cursor = Cursor(octets, rows.starts)
    cursor.skip_varint()  # the length, which the walk has read
    cursor.skip_byte()  # attributes, unused so far
    timestamps = offsets = None
    if wanted.by_timestamp or "timestamp" in columns:
        timestamps = _timestamps(cursor.read_varlong(), rows)
    else:
        cursor.skip_varint()
    cuts = int(rows.base_offsets[0]) < wanted.first_offset or (
        int(rows.base_offsets[-1] + rows.last_offset_deltas[-1]) >= wanted.end_offset
    )
    if cuts or "offset" in columns:
        offsets = _offsets(cursor.read_varint(), rows)
    else:
        cursor.skip_varint()

    built: dict[str, Any] = {}
    ends = rows.ends
    chosen = _chosen(wanted, offsets if cuts else None, timestamps)
    if chosen is not None:
        cursor.keep(chosen)
        ends = ends[chosen]
        offsets = None if offsets is None else offsets[chosen]
        timestamps = None if timestamps is None else timestamps[chosen]
    count = len(ends)
    if not count:
        return None
    if "offset" in columns and offsets is not None:
        built["offset"] = arrow_numbers(offsets)
    if "timestamp" in columns and timestamps is not None:
        built["timestamp"] = _timestamp_column(timestamps)
    if "timestampType" in columns:
        built["timestampType"] = _timestamp_types(rows, chosen)
    if "topic" in columns:
        built["topic"] = _constant(wanted.topic, count)
    if "partition" in columns:
        built["partition"] = _constant(wanted.partition, count)
    _build_contents(octets, cursor, ends, columns, built)
    return pa.RecordBatch.from_arrays([built[name] for name in columns], schema=arrow_schema(columns))


def _timestamps(deltas: Ints, rows: Rows) -> Ints:
    append_time = rows.append_time
    if append_time.all():
        return rows.spread(rows.max_timestamps)
    if append_time.any():
        deltas = np.where(np.repeat(append_time, rows.counts), 0, deltas)
    bases = np.where(append_time, rows.max_timestamps, rows.base_timestamps)
    # Python integers are unbounded, which shows whether a sum exceeds 64 bits.
    lowest, highest = int(bases.min()) + int(deltas.min()), int(bases.max()) + int(deltas.max())
    if lowest < -_INT64_MAX - 1 or highest > _INT64_MAX:
        sums = zip(deltas.tolist(), rows.spread(bases).tolist(), strict=True)
        if any(not -_INT64_MAX - 1 <= delta + base <= _INT64_MAX for delta, base in sums):
            raise InvalidRecord("a timestamp has more than 64 bits")
    return deltas + rows.spread(bases)


def _timestamp_column(timestamps_ms: Ints) -> Any:
    if int(timestamps_ms.max()) > _TIMESTAMP_MS_MAX or int(timestamps_ms.min()) < -_TIMESTAMP_MS_MAX:
        raise InvalidRecord("a record's timestamp does not fit into Spark's type; read without the column `timestamp`")
    return arrow_numbers(timestamps_ms * _US_PER_MS).view(TIMESTAMP_TYPE)


def _timestamp_types(rows: Rows, chosen: Bools | None) -> Any:
    kinds = rows.append_time.astype(np.int32)
    if (kinds == kinds[0]).all():
        count = int(rows.counts.sum()) if chosen is None else int(np.count_nonzero(chosen))
        return _constant(int(kinds[0]), count)
    spread = np.repeat(kinds, rows.counts)
    return arrow_numbers(spread if chosen is None else spread[chosen])


def _offsets(deltas: Ints, rows: Rows) -> Ints:
    """Offsets must ascend: batches do not overlap, and records are between their batch's first and last offset."""
    offsets = deltas + rows.spread(rows.base_offsets)
    last_of_batch = np.cumsum(rows.counts) - 1
    first_of_batch = last_of_batch - rows.counts + 1
    if (
        not (offsets[1:] > offsets[:-1]).all()
        or (deltas[first_of_batch] < 0).any()
        or (deltas[last_of_batch] > rows.last_offset_deltas).any()
    ):
        raise InvalidRecord("the offsets of a batch's records are not ascending")
    return offsets


def _chosen(wanted: Wanted, offsets: Ints | None, timestamps: Ints | None) -> Bools | None:
    """None: all."""
    tests: list[Bools] = []
    if offsets is not None:
        tests.append((offsets >= wanted.first_offset) & (offsets < wanted.end_offset))
    if timestamps is not None and wanted.timestamp_ms_min is not None:
        tests.append(timestamps >= wanted.timestamp_ms_min)
    if timestamps is not None and wanted.timestamp_ms_end is not None:
        tests.append(timestamps < wanted.timestamp_ms_end)
    if not tests:
        return None
    chosen = np.logical_and.reduce(tests)
    return None if chosen.all() else chosen


@lru_cache(maxsize=16)
def _constants(value: str | int) -> Any:
    return pa.repeat(arrow_scalar(value), _CONSTANT_ROWS)


def _constant(value: str | int, count: int) -> Any:
    """Slices of one array: its bytes are created once per task, not once per step."""
    if count <= _CONSTANT_ROWS:
        return _constants(value).slice(0, count)
    return pa.repeat(arrow_scalar(value), count)


def _build_contents(octets: Octets, cursor: Cursor, ends: Ints, columns: Sequence[str], built: dict[str, Any]) -> None:
    """Keys, values and headers, if any of them is requested."""
    needed = max(("key" in columns) * 1, ("value" in columns) * 2, ("headers" in columns) * 3)
    if needed >= 1:
        built["key"] = _read_field(octets, cursor, build="key" in columns)
    if needed >= 2:
        built["value"] = _read_field(octets, cursor, build="value" in columns)
    if needed >= 3:
        counts = cursor.read_varint()
        built["headers"], cursor = _headers(octets, cursor, counts, ends)
        if (cursor.positions != ends).any():
            raise InvalidRecord("a record's fields do not match its length")
    elif (cursor.positions > ends).any():
        raise InvalidRecord("a record's fields are longer than the record")


def _read_field(octets: Octets, cursor: Cursor, *, build: bool) -> Any:
    """A key or a value of all records, built only if it is requested."""
    lengths, is_null = _field_lengths(cursor)
    if is_null is not None and is_null.all():
        return pa.nulls(len(lengths), pa.binary())
    column = _slices(octets, cursor.positions, lengths, is_null) if build else None
    cursor.skip(lengths)
    return column


def _field_lengths(cursor: Cursor) -> tuple[Ints, Bools | None]:
    """Lengths, with 0 for null; and which are null, if any is."""
    lengths = cursor.read_varint()
    lowest = int(lengths.min())
    if lowest >= 0:
        return lengths, None
    if lowest < -1:
        raise InvalidRecord("the length of a field is negative")
    return np.maximum(lengths, 0), lengths < 0


def _slices(octets: Octets, starts: Ints, lengths: Ints, is_null: Bools | None) -> Any:
    """A binary array of these bytes."""
    count = len(starts)
    # The elements alternate: the gap before a slice, and the slice.
    bounds = np.empty(2 * count + 1, np.int32)
    bounds[0] = 0
    bounds[1::2] = starts
    ends = starts + lengths
    if int(ends.max()) > octets.size:
        raise InvalidRecord("a field is longer than the batch")
    bounds[2::2] = ends
    elements = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(bounds), octets.buffer])
    return elements.take(arrow_numbers(np.arange(1, 2 * count, 2, dtype=np.int32), is_null))


def _headers(octets: Octets, cursor: Cursor, counts: Ints, ends: Ints) -> tuple[Any, Cursor]:
    """The column, and a cursor after the headers. Records without headers have null."""
    at = cursor.positions
    if int(counts.min()) < 0 or (counts * 2 > np.maximum(ends - at, 0)).any():  # a header is two lengths at least
        raise InvalidRecord("a record claims more headers than its bytes can hold")
    list_ends = np.cumsum(counts)
    total = int(list_ends[-1])
    if not total:
        return pa.nulls(len(counts), HEADERS_TYPE), cursor
    at = at.copy()
    key_starts, key_lengths, value_starts, value_lengths = (np.empty(total, np.int64) for _ in range(4))
    value_is_null = np.empty(total, np.bool_)
    rows = np.flatnonzero(counts)
    slots = (list_ends - counts)[rows]
    left = counts[rows]
    while len(rows):  # the first header of all records, the second of those that have one, ...
        step = Cursor(octets, at[rows])
        lengths, no_key = _field_lengths(step)
        key_lengths[slots] = lengths
        if no_key is not None:
            raise InvalidRecord("a header has no key")
        key_starts[slots] = step.positions
        step.skip(lengths)
        lengths, no_value = _field_lengths(step)
        value_lengths[slots] = lengths
        value_is_null[slots] = False if no_value is None else no_value
        value_starts[slots] = step.positions
        at[rows] = step.positions + lengths
        left = left - 1
        more = left > 0
        rows, slots, left = rows[more], slots[more] + 1, left[more]
    if (at > ends).any():
        raise InvalidRecord("a record's headers are longer than the record")
    keys = _strings(_slices(octets, key_starts, key_lengths, None))
    values = _slices(octets, value_starts, value_lengths, value_is_null)
    headers = pa.StructArray.from_arrays([keys, values], fields=list(HEADER_TYPE))
    bounds = np.empty(len(counts) + 1, np.int32)
    bounds[0] = 0
    bounds[1:] = list_ends
    column = pa.ListArray.from_arrays(arrow_numbers(bounds), headers, type=HEADERS_TYPE, mask=arrow_bools(counts == 0))
    return column, Cursor(octets, at)


def _strings(keys: Any) -> Any:
    try:
        return pc.cast(keys, pa.string())
    except pa.ArrowInvalid:  # bytes that are not UTF-8 are shown with replacement characters, as Java shows them
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())
