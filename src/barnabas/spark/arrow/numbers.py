"""Numbers from NumPy to Arrow and back, and single values, without pandas.

`pyarrow.array`, `pyarrow.scalar` and `to_numpy` import pandas when they are first called, to find out whether they deal
with its types. That is two fifths of the CPU time that a Python worker needs for its first records. Arrow's functions
call them for arguments that are Python's own values, so these are converted here, too. (When a task has written its
rows, Spark itself calls `pyarrow.array`, for its message to the driver.)
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from barnabas.spark.arrow.varints import Bools, Ints

_NUMPY: Final[dict[Any, np.dtype[Any]]] = {pa.int32(): np.dtype(np.int32), pa.int64(): np.dtype(np.int64)}
_ARROW: Final[dict[np.dtype[Any], Any]] = {of_numpy: of_arrow for of_arrow, of_numpy in _NUMPY.items()}


def arrow_numbers(numbers: npt.NDArray[np.signedinteger[Any]], is_null: Bools | None = None) -> Any:
    """An array over these 32-bit or 64-bit integers, without a copy."""
    valid = None if is_null is None else _bits(~is_null)
    data = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(_ARROW[numbers.dtype], len(numbers), [valid, data])


def arrow_bools(values: Bools) -> Any:
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])


def arrow_scalar(value: bytes | str | int) -> Any:
    """Of type binary, string or int32."""
    if isinstance(value, int):
        return arrow_numbers(np.array([value], np.int32))[0]
    data = value if isinstance(value, bytes) else value.encode()
    ends = pa.py_buffer(np.array([0, len(data)], np.int32))
    type_ = pa.binary() if isinstance(value, bytes) else pa.string()
    return pa.Array.from_buffers(type_, 1, [None, ends, pa.py_buffer(data)])[0]


def numpy_numbers(array: Any) -> Ints:
    """The integers of an array, as 64-bit ones; any number for null."""
    if not len(array):
        return np.empty(0, np.int64)
    if array.type not in _NUMPY:
        array = array.cast(pa.int64())
    kind = _NUMPY[array.type]
    found = np.frombuffer(array.buffers()[1], kind, len(array), array.offset * kind.itemsize)
    return np.asarray(found, np.int64)


def is_valid(array: Any) -> Bools:
    """Which elements are not null."""
    validity = array.buffers()[0]
    if validity is None:
        return np.ones(len(array), np.bool_)
    octets = np.frombuffer(validity, np.uint8)
    bits = np.unpackbits(octets, count=array.offset + len(array), bitorder="little")
    return bits[array.offset :].astype(np.bool_)


def _bits(values: Bools) -> Any:
    return pa.py_buffer(np.packbits(values, bitorder="little"))
