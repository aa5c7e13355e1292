"""Divides offset ranges into tasks. Pure functions.

Like Spark's Kafka connector, it starts with one task per partition, and `minPartitions` and `maxRecordsPerPartition`
split ranges in the same way. Without these options it does two more things:

- A range of many offsets is split: one large partition would be read by one core while the others wait.
- Ranges of few offsets share a task: starting a task costs more than reading a few thousand records. Ranges with
  the same leader are put together, so that a task connects to few brokers.

How many records a range has is not known, only how many offsets; a compacted topic has fewer. Both numbers below are
about time, not about memory: a task reads its ranges piece by piece.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from barnabas.model import TopicPartition
from barnabas.spark.source.ranges import OffsetRange

LARGE_OFFSETS = 4_000_000
"""A larger range is split: one or two seconds of reading records of 100 bytes."""

SMALL_OFFSETS = 10_000
"""Smaller ranges share a task: a few milliseconds of reading, as much as the task itself costs."""


def plan(
    ranges: Iterable[OffsetRange],
    *,
    min_partitions: int | None = None,
    max_records: int | None = None,
    leaders: Mapping[TopicPartition, int] | None = None,
) -> list[tuple[OffsetRange, ...]]:
    """The ranges of each task. Every offset of every range is in exactly one of them; empty ranges are in none."""
    pieces = sorted((one for one in ranges if size(one) > 0), key=lambda one: (one.topic, one.partition, one.start))
    if max_records is not None:
        pieces = [piece for one in pieces for piece in split(one, math.ceil(size(one) / max_records))]
    if min_partitions is not None:
        return [(piece,) for piece in _at_least(pieces, min_partitions)]
    pieces = [piece for one in pieces for piece in split(one, math.ceil(size(one) / LARGE_OFFSETS))]
    return _packed(pieces, min(SMALL_OFFSETS, max_records or SMALL_OFFSETS), leaders or {})


def size(one: OffsetRange) -> int:
    return one.end - one.start


def split(one: OffsetRange, parts: int) -> list[OffsetRange]:
    """Into pieces of nearly the same size, without empty ones."""
    pieces = []
    start = one.start
    for left in range(parts, 0, -1):
        end = start + (one.end - start) // left
        if end > start:
            pieces.append(replace(one, start=start, end=end))
        start = end
    return pieces


def _at_least(pieces: Sequence[OffsetRange], tasks: int) -> list[OffsetRange]:
    """The connector's rule: ranges that are too small to be split keep one task, the large ones share the others."""
    if len(pieces) >= tasks:
        return list(pieces)
    total = sum(size(one) for one in pieces)
    whole = {_place(one) for one in pieces if _share(size(one), total, tasks) == 1}
    whole_pieces = [one for one in pieces if _share(size(one), total, tasks) == 1]
    rest_total = total - sum(size(one) for one in whole_pieces)
    rest_tasks = max(tasks - len(whole_pieces), 1)
    return [
        piece
        for one in pieces
        for piece in split(one, 1 if _place(one) in whole else _share(size(one), rest_total, rest_tasks))
    ]


def _share(part: int, total: int, tasks: int) -> int:
    """Rounded like Java: half up."""
    return max(math.floor(part / total * tasks + 0.5), 1)


def _packed(
    pieces: Sequence[OffsetRange], most: int, leaders: Mapping[TopicPartition, int]
) -> list[tuple[OffsetRange, ...]]:
    tasks: list[tuple[OffsetRange, ...]] = []
    shared: list[OffsetRange] = []
    small = [one for one in pieces if size(one) <= most]
    for one in sorted(small, key=lambda one: leaders.get(_place(one), -1)):
        if shared and sum(size(other) for other in shared) + size(one) > most:
            tasks.append(tuple(shared))
            shared = []
        shared.append(one)
    if shared:
        tasks.append(tuple(shared))
    tasks += [(one,) for one in pieces if size(one) > most]
    return sorted(tasks, key=lambda task: (task[0].topic, task[0].partition, task[0].start))


def _place(one: OffsetRange) -> TopicPartition:
    return TopicPartition(one.topic, one.partition)
