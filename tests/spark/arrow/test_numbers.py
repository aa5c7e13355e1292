"""Numbers between NumPy and Arrow, and what a Python worker need not import for them."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from barnabas.spark.arrow.numbers import arrow_bools, arrow_numbers, arrow_scalar, is_valid, numpy_numbers

# What a Python worker does with records that it reads, and with rows that it writes.
WORKER = """
import sys
from barnabas.records.record import Header, Record, build_batch
from barnabas.spark.arrow.decode import decode
from barnabas.spark.arrow.encode import BatchLimits, encode
from barnabas.spark.sink.routing import Router
from barnabas.spark.sink.rows import rows_of

class Producer:
    def partition_count(self, topic):
        return 3

columns = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
record = Record(0, 1_700_000_000_000, b"key", b"value", (Header("name", b"x"), Header("name", None)))
data = build_batch([record, Record(1, 1_700_000_000_001, None, None)])
rows = decode(data, topic="t", partition=0, columns=columns, first_offset=0, end_offset=9).batch
limits = BatchLimits(batch_bytes_max=1 << 20, request_bytes_max=1 << 20)
for chosen in (columns, [name for name in columns if name != "partition"]):
    written = rows_of(rows.select(chosen), has_topic=False, now_ms=1)
    route = Router(Producer(), topic=None, partitioner_name="murmur2").route(written)
    assert list(encode(written.columns, groups=route.groups, order=route.order, now_ms=1, limits=limits))
assert "pandas" not in sys.modules
"""


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_the_same_as_pyarrow(kind: type[np.int32] | type[np.int64]) -> None:
    numbers = np.array([3, -1, 2**31 - 1, 0, 7], kind)
    is_null = np.array([False, True, False, False, True])
    for some in (slice(None), slice(1, 4), slice(0, 0), slice(None, None, 2)):
        assert arrow_numbers(numbers[some]).equals(pa.array(numbers[some]))
        masked = arrow_numbers(numbers[some], is_null[some])
        assert masked.equals(pa.array(numbers[some], mask=is_null[some]))
        assert is_valid(masked).tolist() == (~is_null[some]).tolist()
        assert arrow_bools(is_null[some]).equals(pa.array(is_null[some]))
        assert numpy_numbers(pa.array(numbers[some])).tolist() == numbers[some].tolist()
    whole = arrow_numbers(numbers, is_null)
    assert is_valid(whole.slice(1, 3)).tolist() == [False, True, True]
    assert numpy_numbers(pa.array(numbers).slice(2)).tolist() == numbers[2:].tolist()
    assert numpy_numbers(pa.array([1, 2], pa.int8())).dtype == np.int64
    assert is_valid(pa.array([1, 2])).tolist() == [True, True]


def test_single_values() -> None:
    for value, type_ in ((b"", pa.binary()), (b"\0x", pa.binary()), ("größe", pa.string()), (-7, pa.int32())):
        assert arrow_scalar(value).equals(pa.scalar(value, type_))


def test_a_worker_does_not_import_pandas() -> None:
    subprocess.run([sys.executable, "-c", WORKER], check=True)
