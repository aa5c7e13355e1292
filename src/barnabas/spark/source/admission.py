"""How much of the available records goes into the next batch. Pure functions on offsets, limits and a time."""

import math
from collections.abc import Mapping

from barnabas.model import TopicPartition
from barnabas.spark.source.offsets import PartitionOffsets

_LONG_MAX = 2**63 - 1


def limited(limit: int, begin: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> PartitionOffsets:
    """The end of a batch of about `limit` offsets, shared out in proportion to what each partition has.

    The arithmetic is the JVM connector's, so a query that moves here gets the same batches: a share of less than one
    offset is rounded up, so that a small partition does not starve next to large ones; others are rounded down.
    """
    sizes = {
        partition: end[partition] - begin[partition]
        for partition in end
        if partition in begin and end[partition] > begin[partition]
    }
    total = float(sum(sizes.values()))
    if total < 1:
        return dict(end)
    ends = dict(end)
    for partition, size in sizes.items():
        share = limit * (size / total)
        offsets = math.ceil(share) if share < 1 else math.floor(share)
        ends[partition] = min(end[partition], begin[partition] + offsets, _LONG_MAX)
    return ends


class Delay:
    """Waits until a batch is worth it: `minOffsetsPerTrigger`, but no longer than `maxTriggerDelay`."""

    def __init__(self, least: int, longest_ms: int) -> None:
        self._least = least
        self._longest_ms = longest_ms
        self._last_ms: float | None = None
        """When the last batch was admitted; None: there was none, and the first never waits."""

    def holds_back(self, waiting: int, now_ms: float) -> bool:
        """Whether `waiting` offsets should wait for more."""
        overdue = self._last_ms is None or now_ms - self._last_ms >= self._longest_ms
        if not overdue and waiting < self._least:
            return True
        self._last_ms = now_ms
        return False


def waiting(begin: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> int:
    return sum(max(0, offset - begin.get(partition, 0)) for partition, offset in end.items())
