"""Encodes Arrow columns into record batches, without a loop over rows.

A record is its head (length, attributes, two deltas, the key's length), the key, the value's length, the value, and its
tail (the headers). The heads of all rows are computed as columns of varints with numpy, and written into one buffer.
Then one `take` of Arrow concatenates heads, keys, lengths, values and tails, row by row and already in the order of
their partitions: keys and values are copied by C++, and Python touches no single row.

The head of a batch's first record has room for the batch header, so the result is a sequence of complete batches, each
a slice of one buffer. The producer sets its own fields (id, epoch, sequence) and the CRC
(`barnabas.client.producer_batch`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from barnabas.records.batch import (
    HEADER_SIZE,
    HEADER_STRUCT,
    LOG_OVERHEAD,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
)
from barnabas.records.compression import Codec, compress
from barnabas.spark.arrow.encode_headers import binary_array, encode_headers, lengths_of, varint_array
from barnabas.spark.arrow.encode_varints import Ints, starts_of, varint_size, varint_sizes, write_varints, zigzag
from barnabas.spark.arrow.numbers import arrow_numbers, arrow_scalar

# Our broker accepts no more records in a batch, and offset deltas stay below 4 bytes.
RECORDS_MAX: Final = 1 << 18
_OFFSET_DELTA_SIZE_MAX: Final = 3

_EMPTY_TAIL: Final = b"\0"  # no headers


class RowTooLarge(ValueError):
    """A single row does not fit into a request."""

    def __init__(self, size_bytes: int, request_bytes_max: int) -> None:
        super().__init__(f"a row takes {size_bytes} bytes as a record, and a request has at most {request_bytes_max}")
        self.size_bytes = size_bytes
        self.request_bytes_max = request_bytes_max


@dataclass(frozen=True)
class Columns:
    """Rows to write. Plain binary arrays of equal length, without chunks; None: a column that is null or missing."""

    value: Any
    key: Any | None = None
    headers: Any | None = None  # of list<struct<key, value>>
    timestamps_ms: Ints | None = None

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True)
class BatchLimits:
    batch_bytes_max: int
    """A batch is closed before it exceeds this; a larger row gets its own batch."""
    request_bytes_max: int
    """No batch may be larger than this, nor may a row."""


class GroupBatch(NamedTuple):
    group: int
    """The index of its group."""
    batch: memoryview
    """A complete batch, writable: its CRC and its producer's fields are not set yet."""


def encode(
    columns: Columns,
    *,
    groups: Sequence[tuple[int, int]] | None = None,
    order: Ints | None = None,
    now_ms: int,
    limits: BatchLimits,
    codec: Codec = Codec.NONE,
    level: int | None = None,
) -> Iterator[GroupBatch]:
    """Record batches of all rows.

    Rows go in the order of `order` (row numbers; None: as they are); `groups` are the parts of that order, from and
    to, that must not share a batch, because they go to different partitions. `now_ms` is the timestamp of rows
    without one.
    """
    if not len(columns):
        return
    groups = groups if groups is not None else [(0, len(columns))]
    layout = _Layout(columns, order, now_ms)
    firsts = layout.cut(groups, limits)
    data, starts = layout.join(firsts)
    group = 0
    for first, past in zip(firsts, [*firsts[1:], len(columns)], strict=True):
        while first >= groups[group][1]:
            group += 1
        batch = data[int(starts[first]) : int(starts[past])]
        if codec is not Codec.NONE:
            compressed = compress(codec, batch[HEADER_SIZE:], level)
            batch = memoryview(bytearray(HEADER_SIZE + len(compressed)))
            batch[HEADER_SIZE:] = compressed
        HEADER_STRUCT.pack_into(
            batch,
            0,
            0,
            len(batch) - LOG_OVERHEAD,
            NO_LEADER_EPOCH,
            MAGIC,
            0,
            codec,
            past - first - 1,
            layout.base_timestamp(first),
            layout.max_timestamp(first, past),
            NO_PRODUCER_ID,
            NO_PRODUCER_EPOCH,
            NO_SEQUENCE,
            past - first,
        )
        yield GroupBatch(group, batch)


class _Layout:
    """The rows in their order, and the sizes of their parts."""

    def __init__(self, columns: Columns, order: Ints | None, now_ms: int) -> None:
        self._columns = columns
        self._count = len(columns)
        self._order = order
        self._now_ms = now_ms
        self._tails = None if columns.headers is None else encode_headers(columns.headers)
        value_lengths = lengths_of(pc.binary_length(columns.value), null=-1)
        self._value_length_bytes = varint_array(value_lengths)  # in the order of the columns, like keys and values
        value_zigzags = zigzag(self._ordered(value_lengths))
        self._key_zigzags = None
        # attributes, the value's length, the value; all but the head's own varints
        self._fixed_sizes = 1 + varint_sizes(value_zigzags) + np.maximum(self._ordered(value_lengths), 0)
        if columns.key is None:
            self._fixed_sizes += 1
        else:
            key_lengths = self._ordered(lengths_of(pc.binary_length(columns.key), null=-1))
            self._key_zigzags = zigzag(key_lengths)
            self._fixed_sizes += varint_sizes(self._key_zigzags) + np.maximum(key_lengths, 0)
        if self._tails is None:
            self._fixed_sizes += len(_EMPTY_TAIL)
        else:
            self._fixed_sizes += self._ordered(lengths_of(pc.binary_length(self._tails), null=0))
        self._timestamps = None if columns.timestamps_ms is None else self._ordered(columns.timestamps_ms)

    def _ordered(self, values: Ints) -> Ints:
        return values if self._order is None else values[self._order]

    def cut(self, groups: Sequence[tuple[int, int]], limits: BatchLimits) -> list[int]:
        """The first row of each batch. Uses the maximum size of a record, wherever its batch begins."""
        bodies = self._fixed_sizes + (_OFFSET_DELTA_SIZE_MAX + self._timestamp_delta_size_max())
        sizes = bodies + varint_sizes(zigzag(bodies))
        largest = int(sizes.max()) + HEADER_SIZE
        if largest > limits.request_bytes_max:
            raise RowTooLarge(largest, limits.request_bytes_max)
        ends = np.cumsum(sizes)
        room = max(min(limits.batch_bytes_max, limits.request_bytes_max) - HEADER_SIZE, 1)
        firsts: list[int] = []
        for begin, end in groups:
            first = begin
            while first < end:
                firsts.append(first)
                used = int(ends[first - 1]) if first else 0
                past = int(np.searchsorted(ends, used + room, side="right"))
                first = min(max(past, first + 1), end, first + RECORDS_MAX)
        return firsts

    def join(self, firsts: Sequence[int]) -> tuple[memoryview, Ints]:
        """All batches in sequence, and where each row begins (a batch's first row: at the batch's header)."""
        rows = np.array(firsts, np.int64)
        counts = np.diff(np.append(rows, self._count))
        offset_zigzags = (np.arange(self._count) - np.repeat(rows, counts)).astype(np.uint64) << np.uint64(1)
        offset_sizes = varint_sizes(offset_zigzags)
        bodies = self._fixed_sizes + offset_sizes
        head_sizes = 1 + offset_sizes  # attributes
        time_zigzags = time_sizes = None
        if self._timestamps is None:
            bodies += 1
            head_sizes += 1
        else:
            time_zigzags = zigzag(self._timestamps - np.repeat(self._timestamps[rows], counts))
            time_sizes = varint_sizes(time_zigzags)
            bodies += time_sizes
            head_sizes += time_sizes
        key_sizes = None if self._key_zigzags is None else varint_sizes(self._key_zigzags)
        head_sizes += 1 if key_sizes is None else key_sizes
        body_zigzags = bodies.astype(np.uint64) << np.uint64(1)
        length_sizes = varint_sizes(body_zigzags)
        head_sizes += length_sizes
        gaps = np.zeros(self._count, np.int64)
        gaps[rows] = HEADER_SIZE

        head_starts = starts_of(head_sizes + gaps)
        heads = np.zeros(int(head_starts[-1]), np.uint8)
        at = head_starts[:-1] + gaps
        write_varints(heads, at, body_zigzags, length_sizes)
        at = at + length_sizes + 1  # attributes are 0
        if time_zigzags is not None and time_sizes is not None:
            write_varints(heads, at, time_zigzags, time_sizes)
            at = at + time_sizes
        else:
            at = at + 1
        write_varints(heads, at, offset_zigzags, offset_sizes)
        at = at + offset_sizes
        if self._key_zigzags is not None and key_sizes is not None:
            write_varints(heads, at, self._key_zigzags, key_sizes)
        else:
            heads[at] = 1  # zigzag of -1: null
        joined = self._take(binary_array(head_starts, heads))
        return joined, starts_of(bodies + length_sizes + gaps)

    def _take(self, heads: Any) -> memoryview:
        columns, count = self._columns, self._count
        row = np.arange(count) if self._order is None else self._order
        tails = self._tails if self._tails is not None else pa.repeat(arrow_scalar(_EMPTY_TAIL), 1)
        pieces = [heads, self._value_length_bytes, columns.value, tails]
        if columns.key is not None:
            pieces.insert(1, columns.key)
        begins = starts_of(np.array([len(piece) for piece in pieces]))
        indexes = np.empty((count, len(pieces)), np.int64)
        indexes[:, 0] = np.arange(count)
        for place in range(1, len(pieces)):
            indexes[:, place] = row + begins[place]
        if self._tails is None:
            indexes[:, -1] = begins[-2]
        data = pa.concat_arrays(pieces).take(arrow_numbers(indexes.ravel())).buffers()[2]
        return memoryview(data).cast("B")

    def _timestamp_delta_size_max(self) -> int:
        if self._timestamps is None:
            return 1
        return varint_size(int(self._timestamps.max()) - int(self._timestamps.min()))

    def base_timestamp(self, first: int) -> int:
        return self._now_ms if self._timestamps is None else int(self._timestamps[first])

    def max_timestamp(self, first: int, past: int) -> int:
        return self._now_ms if self._timestamps is None else int(self._timestamps[first:past].max())
