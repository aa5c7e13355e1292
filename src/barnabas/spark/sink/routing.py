"""The partition of each row, and the order that groups rows by partition."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from barnabas.client.producer import Producer
from barnabas.spark.arrow.encode_varints import Ints
from barnabas.spark.arrow.numbers import arrow_numbers, numpy_numbers
from barnabas.spark.errors import UserError
from barnabas.spark.sink.partitioning import Partitioner, partitioner
from barnabas.spark.sink.rows import Rows

_UINT16_MAX: Final = 0xFFFF


@dataclass(frozen=True)
class Route:
    order: Ints | None
    """Row numbers, grouped by partition, in their original order; None: unchanged."""
    groups: list[tuple[int, int]]
    """The parts of that order, each for one partition."""
    places: list[tuple[str, int]]
    """Topic and partition of each group."""


class Router:
    """For one task: partitioners keep state."""

    def __init__(self, producer: Producer, *, topic: str | None, partitioner_name: str) -> None:
        self._producer = producer
        self._topic = topic
        self._partitioner_name = partitioner_name
        self._partitioners: dict[str, Partitioner] = {}

    @property
    def partition_count(self) -> int:
        """Of all topics so far."""
        return sum(self._producer.partition_count(topic) for topic in self._partitioners)

    def route(self, rows: Rows) -> Route:
        if self._topic is not None:
            topics = [self._topic]
            lanes = self._partitions(self._topic, rows.columns.key, rows.sizes, rows.partitions)
            firsts = [0]
        else:
            topics, firsts, lanes = self._several_topics(rows)
        order, groups = _group_by_lane(lanes)
        places = []
        for begin, _ in groups:
            lane = int(lanes[begin if order is None else order[begin]])
            index = int(np.searchsorted(firsts, lane, side="right")) - 1
            places.append((topics[index], lane - firsts[index]))
        return Route(order, groups, places)

    def _several_topics(self, rows: Rows) -> tuple[list[str], list[int], Ints]:
        """Topics, the number of the first lane of each, and each row's lane: a number for topic and partition."""
        encoded = pc.dictionary_encode(rows.topics.cast(pa.string()))  # type: ignore[union-attr]
        codes = numpy_numbers(encoded.indices)
        topics: list[str] = encoded.dictionary.to_pylist()
        lanes = np.empty(len(rows), np.int64)
        firsts: list[int] = []
        first = 0
        for code, topic in enumerate(topics):
            firsts.append(first)
            chosen = np.flatnonzero(codes == code)
            key = None if rows.columns.key is None else rows.columns.key.take(arrow_numbers(chosen))
            given = None if rows.partitions is None else rows.partitions[chosen]
            partitions = self._partitions(topic, key, rows.sizes[chosen], given)
            lanes[chosen] = partitions + first
            first += int(partitions.max()) + 1
        return topics, firsts, lanes

    def _partitions(self, topic: str, keys: Any | None, sizes: Ints, given: Ints | None) -> Ints:
        if not topic:
            raise UserError("A row's topic is empty.", "correct the column topic, or name one with the option topic")
        chooser = self._partitioners.get(topic)
        if chooser is None:
            chooser = self._partitioners[topic] = partitioner(self._partitioner_name)
        count = self._producer.partition_count(topic)
        if given is None:
            return chooser.choose(keys, sizes, count)
        open_rows = np.flatnonzero(given < 0)
        if len(open_rows):
            given = given.copy()
            open_keys = None if keys is None else keys.take(arrow_numbers(open_rows))
            given[open_rows] = chooser.choose(open_keys, sizes[open_rows], count)
        return given


def _group_by_lane(lanes: Ints) -> tuple[Ints | None, list[tuple[int, int]]]:
    largest = int(lanes.max())
    if int(lanes.min()) == largest:
        return None, [(0, len(lanes))]
    # numpy uses a radix sort for small numbers, which is many times faster
    order = np.argsort(lanes.astype(np.uint16) if largest <= _UINT16_MAX else lanes, kind="stable")
    borders = np.flatnonzero(np.diff(lanes[order])) + 1
    ends = [*borders.tolist(), len(lanes)]
    return order, list(zip([0, *ends[:-1]], ends, strict=True))
