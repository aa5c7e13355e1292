"""The fields of many records as Arrow columns; only what was asked for is read.

`Rows` is a step of decoding: records of any number of batches, in one buffer. Its fields are read front to back with
one cursor, each for all records at once. Keys, values and headers are not copied by hand: an Arrow array is laid over
the buffer, with what is wanted and what lies between as its elements, and `take` picks the wanted ones.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from barnabas.records.batch import LOG_APPEND_TIME_FLAG
from barnabas.spark.arrow.schema import HEADER_TYPE, HEADERS_TYPE, TIMESTAMP_TYPE, arrow_schema
from barnabas.spark.arrow.varints import Bools, Cursor, Ints, Octets
from barnabas.wire.errors import InvalidRecord

_INT64_MAX: Final = (1 << 63) - 1
_TIMESTAMP_MS_MAX: Final = _INT64_MAX // 1000
_US_PER_MS: Final = 1000
_CONSTANT_ROWS: Final = 1 << 16


class Wanted(NamedTuple):
    """What a reader asks for: which columns, of which records."""

    topic: str
    partition: int
    columns: tuple[str, ...]
    first_offset: int
    end_offset: int
    timestamp_ms_min: int | None = None
    timestamp_ms_end: int | None = None  # the first that is too late

    @property
    def by_timestamp(self) -> bool:
        return self.timestamp_ms_min is not None or self.timestamp_ms_end is not None


class Rows(NamedTuple):
    """Records and what their batches say of them, one row per record."""

    starts: Ints
    ends: Ints
    batch_of: Ints
    """Index into the columns below, which have one row per batch."""
    base_offsets: Ints
    last_offset_deltas: Ints
    attributes: Ints
    base_timestamps: Ints
    max_timestamps: Ints


def build(octets: Octets, rows: Rows, wanted: Wanted) -> Any:
    """An Arrow RecordBatch; None if no record is wanted. InvalidRecord where fields do not fit into their record."""
    columns = wanted.columns
    cursor = Cursor(octets, rows.starts)
    cursor.skip_varint()  # the length, which the walk has read
    cursor.skip_byte()  # attributes, without meaning so far
    ends, batch_of = rows.ends, rows.batch_of
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

    chosen = _chosen(wanted, offsets if cuts else None, timestamps)
    if chosen is not None:
        cursor.keep(chosen)
        ends, batch_of = ends[chosen], batch_of[chosen]
        offsets = None if offsets is None else offsets[chosen]
        timestamps = None if timestamps is None else timestamps[chosen]
    count = len(ends)
    if not count:
        return None

    built: dict[str, Any] = {}
    if "offset" in columns:
        built["offset"] = pa.array(offsets)
    if "timestamp" in columns and timestamps is not None:
        built["timestamp"] = _timestamp_column(timestamps)
    if "timestampType" in columns:
        kinds = rows.attributes & LOG_APPEND_TIME_FLAG != 0
        built["timestampType"] = pa.array(kinds.astype(np.int32)[batch_of])
    if "topic" in columns:
        built["topic"] = _constant(wanted.topic, count)
    if "partition" in columns:
        built["partition"] = _constant(wanted.partition, count)
    _build_contents(octets, cursor, ends, columns, built)
    return pa.RecordBatch.from_arrays([built[name] for name in columns], schema=arrow_schema(columns))


def _timestamps(deltas: Ints, rows: Rows) -> Ints:
    append_time = rows.attributes & LOG_APPEND_TIME_FLAG != 0
    bases = rows.base_timestamps
    lowest, highest = int(bases.min()) + int(deltas.min()), int(bases.max()) + int(deltas.max())
    if not -_INT64_MAX <= lowest <= highest <= _INT64_MAX:
        sums = deltas.astype(object) + bases[rows.batch_of].astype(object)
        own = ~append_time[rows.batch_of]
        if any(not -_INT64_MAX - 1 <= timestamp <= _INT64_MAX for timestamp in sums[own]):
            raise InvalidRecord("a timestamp has more than 64 bits")
    if not append_time.any():
        return deltas + bases[rows.batch_of]
    if append_time.all():
        return rows.max_timestamps[rows.batch_of]
    return np.where(append_time, rows.max_timestamps, bases)[rows.batch_of] + np.where(
        append_time[rows.batch_of], 0, deltas
    )


def _offsets(deltas: Ints, rows: Rows) -> Ints:
    same_batch = rows.batch_of[1:] == rows.batch_of[:-1]
    ascend = (deltas[1:] > deltas[:-1]) | ~same_batch
    if int(deltas.min()) < 0 or not ascend.all() or (deltas > rows.last_offset_deltas[rows.batch_of]).any():
        raise InvalidRecord("the offsets of a batch's records do not ascend within the batch")
    return deltas + rows.base_offsets[rows.batch_of]


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


def _timestamp_column(timestamps_ms: Ints) -> Any:
    if int(timestamps_ms.max()) > _TIMESTAMP_MS_MAX or int(timestamps_ms.min()) < -_TIMESTAMP_MS_MAX:
        raise InvalidRecord(
            "a record's timestamp does not fit into Spark's type; leave the column `timestamp` out to read the topic"
        )
    return pa.array(timestamps_ms * _US_PER_MS).view(TIMESTAMP_TYPE)


@lru_cache(maxsize=16)
def _constants(value: str | int) -> Any:
    return pa.repeat(pa.scalar(value, pa.string() if isinstance(value, str) else pa.int32()), _CONSTANT_ROWS)


def _constant(value: str | int, count: int) -> Any:
    """Slices of one array: its bytes are made once per task, not once per step."""
    if count <= _CONSTANT_ROWS:
        return _constants(value).slice(0, count)
    return pa.repeat(pa.scalar(value, _constants(value).type), count)


def _build_contents(octets: Octets, cursor: Cursor, ends: Ints, columns: Sequence[str], built: dict[str, Any]) -> None:
    """Keys, values and headers, as far as any of them is asked for."""
    needed = max(("key" in columns) * 1, ("value" in columns) * 2, ("headers" in columns) * 3)
    if needed >= 1:
        lengths = _field_lengths(cursor)
        if "key" in columns:
            built["key"] = _slices(octets, cursor.positions, lengths)
        cursor.skip(np.maximum(lengths, 0))
    if needed >= 2:
        lengths = _field_lengths(cursor)
        if "value" in columns:
            built["value"] = _slices(octets, cursor.positions, lengths)
        cursor.skip(np.maximum(lengths, 0))
    if needed >= 3:
        counts = cursor.read_varint()
        built["headers"], cursor = _headers(octets, cursor, counts, ends)
        if (cursor.positions != ends).any():
            raise InvalidRecord("a record's fields do not end where its length says")
    elif (cursor.positions > ends).any():
        raise InvalidRecord("a record's fields are longer than the record")


def _field_lengths(cursor: Cursor) -> Ints:
    lengths = cursor.read_varint()
    if int(lengths.min()) < -1:
        raise InvalidRecord("the length of a field is negative")
    return lengths


def _slices(octets: Octets, starts: Ints, lengths: Ints) -> Any:
    """A binary array of these bytes; null where the length is -1."""
    count = len(starts)
    is_null = lengths < 0
    if is_null.all():
        return pa.nulls(count, pa.binary())
    some_null = bool(is_null.any())
    ends = starts + (np.maximum(lengths, 0) if some_null else lengths)
    if int(ends.max()) > octets.size:
        raise InvalidRecord("a field is longer than the batch")
    # Elements are, in turn, what lies before a slice, and the slice.
    bounds = np.empty(2 * count + 1, np.int32)
    bounds[0] = 0
    bounds[1::2] = starts
    bounds[2::2] = ends
    elements = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(bounds), octets.buffer])
    chosen = np.arange(1, 2 * count, 2, dtype=np.int32)
    return elements.take(pa.array(chosen, mask=is_null if some_null else None))


def _headers(octets: Octets, cursor: Cursor, counts: Ints, ends: Ints) -> tuple[Any, Cursor]:
    """The column, and a cursor behind the headers. Records without any have null."""
    at = cursor.positions
    if int(counts.min()) < 0 or (counts * 2 > np.maximum(ends - at, 0)).any():  # a header is two lengths at least
        raise InvalidRecord("a record claims more headers than its bytes can hold")
    list_ends = np.cumsum(counts)
    total = int(list_ends[-1])
    if not total:
        return pa.nulls(len(counts), HEADERS_TYPE), cursor
    at = at.copy()
    key_starts, key_lengths, value_starts, value_lengths = (np.empty(total, np.int64) for _ in range(4))
    rows = np.flatnonzero(counts)
    slots = (list_ends - counts)[rows]
    left = counts[rows]
    while len(rows):  # the first header of all records, the second of those that have one, ...
        step = Cursor(octets, at[rows])
        key_lengths[slots] = lengths = _field_lengths(step)
        if int(lengths.min()) < 0:
            raise InvalidRecord("a header has no key")
        key_starts[slots] = step.positions
        step.skip(lengths)
        value_lengths[slots] = lengths = _field_lengths(step)
        value_starts[slots] = step.positions
        at[rows] = step.positions + np.maximum(lengths, 0)
        left = left - 1
        more = left > 0
        rows, slots, left = rows[more], slots[more] + 1, left[more]
    if (at > ends).any():
        raise InvalidRecord("a record's headers are longer than the record")
    keys = _strings(_slices(octets, key_starts, key_lengths))
    values = _slices(octets, value_starts, value_lengths)
    headers = pa.StructArray.from_arrays([keys, values], fields=list(HEADER_TYPE))
    bounds = np.empty(len(counts) + 1, np.int32)
    bounds[0] = 0
    bounds[1:] = list_ends
    column = pa.ListArray.from_arrays(pa.array(bounds), headers, type=HEADERS_TYPE, mask=pa.array(counts == 0))
    return column, Cursor(octets, at)


def _strings(keys: Any) -> Any:
    try:
        return pc.cast(keys, pa.string())
    except pa.ArrowInvalid:  # bytes that are not UTF-8 are shown with replacement characters, as Java shows them
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())
