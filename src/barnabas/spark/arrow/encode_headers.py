"""Encodes the headers of many rows, without a loop over rows or headers.

All headers of all rows are laid out in sequence, each as `key_length, key, value_length, value`. Those of one row are
adjacent, so the headers of a row are a slice.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from barnabas.spark.arrow.encode_varints import Ints, starts_of, varint_sizes, write_varints, zigzag
from barnabas.spark.arrow.numbers import arrow_scalar, is_valid, numpy_numbers

_NOTHING: Final = arrow_scalar(b"")
"""Between the parts that are joined."""


class BadHeaders(ValueError):
    """Headers that no record can have."""


def encode_headers(headers: Any) -> Any:
    """The bytes after each record's value: count and headers. `headers` is a list array of structs (key, value)."""
    counts = lengths_of(pc.list_value_length(headers), null=0)
    entries = headers.flatten()
    if entries.null_count:
        raise BadHeaders("an entry of the headers column is null")
    key, value = (as_binary(column) for column in entries.flatten()[:2])
    if key.null_count:
        raise BadHeaders("a header has no key")
    pieces = pc.binary_join_element_wise(
        _lengths_as_bytes(key),
        key,
        _lengths_as_bytes(value),
        value,
        _NOTHING,
        null_handling="replace",
        null_replacement="",
    )
    entry_starts = _starts_in_data(pieces)
    row_starts = entry_starts[starts_of(counts)]
    rows = pa.Array.from_buffers(
        pa.binary(), len(counts), [None, pa.py_buffer(row_starts.astype(np.int32)), pieces.buffers()[2]]
    )
    return pc.binary_join_element_wise(varint_array(counts), rows, _NOTHING)


def as_binary(column: Any) -> Any:
    return column if column.type == pa.binary() else column.cast(pa.binary())


def lengths_of(lengths: Any, *, null: int) -> Ints:
    """An Arrow array of lengths as numbers."""
    numbers = numpy_numbers(lengths)
    return np.where(is_valid(lengths), numbers, null) if lengths.null_count else numbers


def varint_array(values: Ints) -> Any:
    """Each number as a varint: an array of binary."""
    zigzags = zigzag(values)
    sizes = varint_sizes(zigzags)
    starts = starts_of(sizes)
    target = np.empty(int(starts[-1]), np.uint8)
    write_varints(target, starts[:-1], zigzags, sizes)
    return binary_array(starts, target)


def binary_array(starts: Ints, data: Any) -> Any:
    """An array of the slices between `starts`, laid over `data` without a copy."""
    return pa.Array.from_buffers(
        pa.binary(), len(starts) - 1, [None, pa.py_buffer(starts.astype(np.int32)), pa.py_buffer(data)]
    )


def _lengths_as_bytes(column: Any) -> Any:
    return varint_array(lengths_of(pc.binary_length(column), null=-1))


def _starts_in_data(column: Any) -> Ints:
    """The offsets in the buffer of a binary array."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)
    return offsets[column.offset : column.offset + len(column) + 1].astype(np.int64)
