"""Batches that end at the same timestamp in all partitions: `maxTimePerTrigger`. Pure functions.

Spark's watermark follows the newest row of a batch, from any partition. A query that reads old records, and reads one
partition faster than another, would find rows of the slower one behind the watermark and drop them. So a batch has a
cut, a timestamp C: each partition is read up to its first record whose timestamp is C or later, or to its end. No
record from C on is read before all records before C.

Timestamps that producers set need not be in order. A record older than its predecessors is read in its
place, so the rows of a query are never more out of order than each partition is by itself.

`since` is where the search for the next cut starts. It only saves work: the cut of a batch follows from its start.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from barnabas.model import TopicPartition
from barnabas.spark.source.offsets import PartitionOffsets


class Found(NamedTuple):
    offset: int
    timestamp_ms: int


Look = Callable[[int], Mapping[TopicPartition, Found]]
"""The first record of each waiting partition, not before its begin, that has this timestamp or a later one; partitions
without one before their end are left out."""


class Aligned(NamedTuple):
    ends: PartitionOffsets
    cut_ms: int
    since_ms: int
    """For the next batch."""


def aligned(
    begin: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
    look: Look,
    *,
    span_ms: int,
    limit: int | None,
    since_ms: int,
) -> Aligned:
    """The end of a batch that spans `span_ms` from the oldest waiting record, or less if that is more than `limit`
    offsets. Records with the same timestamp stay together, so a batch may be larger than the limit."""
    at = _Cuts(begin, latest, look)
    whole = at(since_ms + span_ms)
    if whole == latest and (limit is None or at.size(whole) <= limit):
        return Aligned(whole, since_ms + span_ms, since_ms)
    times = [found.timestamp_ms for found in look(since_ms).values()]
    oldest = min(times, default=since_ms)
    cut = oldest + span_ms
    ends = at(cut)
    if limit is not None and at.size(ends) > limit:
        cut = _largest(at, oldest + 1, cut, limit, at.size(ends))
        ends = at(cut)
    return Aligned(ends, cut, oldest)


class _Cuts:
    """Where a batch ends for a cut; the last few are remembered."""

    def __init__(self, begin: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int], look: Look) -> None:
        self._begin = begin
        self._latest = latest
        self._look = look
        self._known: dict[int, PartitionOffsets] = {}

    def __call__(self, cut_ms: int) -> PartitionOffsets:
        if cut_ms not in self._known:
            found = self._look(cut_ms)
            self._known[cut_ms] = {
                place: min(found[place].offset, end) if place in found else end for place, end in self._latest.items()
            }
        return self._known[cut_ms]

    def size(self, ends: Mapping[TopicPartition, int]) -> int:
        return sum(end - self._begin[place] for place, end in ends.items() if place in self._begin)


def _largest(at: _Cuts, low: int, high: int, limit: int, size: int) -> int:
    """A cut whose batch fills the limit at least by half; `low` if there is none, and even that is too large or small.

    `size` is that of the batch up to `high`, and more than the limit. Guesses alternate between
    assuming a steady rate of records, and bisection.
    """
    is_steady = True
    while high - low > 1:
        guess = low + (high - low) * limit // size if is_steady else (low + high) // 2
        guess = min(max(guess, low + 1), high - 1)
        is_steady = not is_steady
        found = at.size(at(guess))
        if found > limit:
            high, size = guess, found
        else:
            low = guess
            if 2 * found >= limit:
                break
    return low
