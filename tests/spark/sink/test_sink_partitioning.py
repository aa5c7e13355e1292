"""Keys get the same partitions as with other clients; records without keys are spread evenly, across chunks too."""

import struct
import zlib
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.partitioning import murmur2, partition_of_hash
from barnabas.spark.sink.hashing import murmur2_column
from barnabas.spark.sink.partitioning import STICKY_BYTES, partitioner

# from Kafka's own tests (UtilsTest.testMurmur2)
KNOWN = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
keys = st.lists(st.one_of(st.none(), st.binary(max_size=40), st.binary(min_size=90, max_size=300)), max_size=60)


def sizes_of(values: list[bytes | None]) -> np.ndarray:
    return np.array([len(value or b"") + 10 for value in values], np.int64)


def test_murmur2_is_that_of_the_java_client() -> None:
    for key, expected in KNOWN.items():
        assert struct.unpack(">i", struct.pack(">I", murmur2(key)))[0] == expected


@given(keys, st.integers(0, 3))
def test_murmur2_of_a_column_is_that_of_each_key(values: list[bytes | None], start: int) -> None:
    column = pa.array([b"before"] * start + values, pa.binary()).slice(start)
    hashes = murmur2_column(column)
    for value, found in zip(values, hashes, strict=True):
        assert value is None or murmur2(value) == found


def test_one_very_long_key_among_short_ones() -> None:
    values = [b"k%d" % index for index in range(100)] + [bytes(range(256)) * 4000]
    assert murmur2_column(pa.array(values, pa.binary())).tolist() == [murmur2(value) for value in values]


@given(keys, st.integers(1, 9))
def test_rows_with_keys_go_where_other_clients_put_them(values: list[bytes | None], partitions: int) -> None:
    column = pa.array(values, pa.binary())
    by_murmur2 = partitioner("murmur2").choose(column, sizes_of(values), partitions)
    by_crc32 = partitioner("crc32").choose(column, sizes_of(values), partitions)
    for place, value in enumerate(values):
        if value is not None:
            assert by_murmur2[place] == partition_of_hash(murmur2(value), partitions)
        if value:
            assert by_crc32[place] == zlib.crc32(value) % partitions
        assert 0 <= by_murmur2[place] < partitions
        assert 0 <= by_crc32[place] < partitions


@pytest.mark.parametrize("name", ["murmur2", "crc32", "consistent", "sticky"])
def test_rows_without_key_stick_to_a_partition_until_it_has_a_batch(name: str) -> None:
    chooser = partitioner(name, np.random.default_rng(3))
    chosen: list[int] = []
    for _ in range(50):  # in chunks: the place is kept from one to the next
        chosen += chooser.choose(None, np.full(100, 128, np.int64), 4).tolist()
    runs = [1]
    for before, after in pairwise(chosen):
        if before == after:
            runs[-1] += 1
        else:
            runs.append(1)
    assert set(runs[:-1]) == {STICKY_BYTES // 128}
    assert set(chosen) == {0, 1, 2, 3}


def test_one_partition_takes_all() -> None:
    for name in ("murmur2", "crc32", "consistent", "sticky", "round-robin", "random"):
        assert set(partitioner(name).choose(None, np.full(1000, 1000, np.int64), 1).tolist()) == {0}


def test_round_robin_deals_evenly_over_chunks() -> None:
    chooser = partitioner("round-robin")
    column = pa.array([b"same key"] * 5, pa.binary())
    chosen = [place for _ in range(9) for place in chooser.choose(column, np.ones(5, np.int64), 3).tolist()]
    assert [(after - before) % 3 for before, after in pairwise(chosen)] == [1] * 44


def test_random_uses_all() -> None:
    chosen = partitioner("random", np.random.default_rng(1)).choose(None, np.ones(3000, np.int64), 3)
    assert set(Counter(chosen.tolist())) == {0, 1, 2}
    assert min(Counter(chosen.tolist()).values()) > 800


def test_no_rows() -> None:
    for name in ("murmur2", "crc32", "sticky", "round-robin", "random"):
        assert len(partitioner(name).choose(pa.array([], pa.binary()), np.zeros(0, np.int64), 3)) == 0


def test_an_unknown_partitioner() -> None:
    with pytest.raises(ValueError, match="best-effort"):
        partitioner("best-effort")
