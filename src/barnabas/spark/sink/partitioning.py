"""Which partition each row goes to, for many rows at once. By default like Kafka's Java clients.

    murmur2             by the key's hash; rows without key are spread
    crc32, consistent   the same with librdkafka's hash; rows with an empty key are spread, too
    sticky              spread, whatever the key: some 16 KB to one partition, then as much to another
    round-robin         one row to each in turn, whatever the key
    random              each row to a random one, whatever the key

A partitioner belongs to one topic and one task, and keeps its state from one chunk of rows to the next.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np
import pyarrow.compute as pc

from barnabas.spark.arrow.encode_headers import lengths_of
from barnabas.spark.arrow.encode_varints import Ints
from barnabas.spark.sink.hashing import Hashes, crc32_column, murmur2_column

# The Java client's batch.size: it stays with a partition until a batch is full.
STICKY_BYTES: Final = 16_384


class Partitioner(Protocol):
    def choose(self, keys: Any | None, sizes: Ints, partitions: int) -> Ints:
        """A partition for each row. `keys` is a binary array, or None without any; `sizes` are the rows' bytes."""
        ...


class Sticky:
    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._current: int | None = None
        self._filled_bytes = 0

    def choose(self, keys: Any | None, sizes: Ints, partitions: int) -> Ints:
        if not len(sizes):
            return np.zeros(0, np.int64)
        if self._current is None or self._current >= partitions:
            self._current = int(self._random.integers(partitions))
        before = np.cumsum(sizes) - sizes + self._filled_bytes
        turns = before // STICKY_BYTES
        steps = np.zeros(int(turns[-1]) + 1, np.int64)
        steps[0] = self._current
        if partitions > 1:
            steps[1:] = self._random.integers(1, partitions, len(steps) - 1)  # always on to another one
        places: Ints = np.cumsum(steps) % partitions
        self._current = int(places[-1])
        self._filled_bytes = int(before[-1] + sizes[-1] - turns[-1] * STICKY_BYTES)
        chosen: Ints = places[turns]
        return chosen


class ByKey:
    def __init__(self, hash_column: Callable[[Any], Hashes], others: Partitioner, *, spread_empty: bool) -> None:
        self._hash_column = hash_column
        self._others = others
        self._spread_empty = spread_empty

    def choose(self, keys: Any | None, sizes: Ints, partitions: int) -> Ints:
        if keys is None:
            return self._others.choose(None, sizes, partitions)
        hashes = self._hash_column(keys)
        if self._hash_column is murmur2_column:
            hashes &= np.uint32(0x7FFFFFFF)  # as Java makes a hash positive
        chosen = (hashes % np.uint32(partitions)).astype(np.int64)
        lengths = lengths_of(pc.binary_length(keys), null=-1)
        without = lengths < (1 if self._spread_empty else 0)
        if without.any():
            chosen[without] = self._others.choose(None, sizes[without], partitions)
        return chosen


class RoundRobin:
    def __init__(self, random: np.random.Generator) -> None:
        self._next = int(random.integers(1 << 30))  # so that small tasks do not all begin with partition 0

    def choose(self, keys: Any | None, sizes: Ints, partitions: int) -> Ints:
        first, self._next = self._next, self._next + len(sizes)
        return np.arange(first, self._next) % partitions


class Random:
    def __init__(self, random: np.random.Generator) -> None:
        self._random = random

    def choose(self, keys: Any | None, sizes: Ints, partitions: int) -> Ints:
        return self._random.integers(partitions, size=len(sizes))


def partitioner(name: str, random: np.random.Generator | None = None) -> Partitioner:
    source = random or np.random.default_rng()
    match name:
        case "murmur2":
            return ByKey(murmur2_column, Sticky(source), spread_empty=False)
        case "crc32" | "consistent":
            return ByKey(crc32_column, Sticky(source), spread_empty=True)
        case "sticky":
            return Sticky(source)
        case "round-robin":
            return RoundRobin(source)
        case "random":
            return Random(source)
    raise ValueError(f"there is no partitioner {name!r}")
