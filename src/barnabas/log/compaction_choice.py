"""Chooses the next log to compact, and how far: the one with the highest ratio of dirty bytes.

A log's dirty section begins where the last compaction ended (its cleaner offset). It ends before the first segment that
cannot be cleaned yet: the active one, one with records that are uncommitted or in an open transaction, or one with
records younger than `min.compaction.lag.ms`. A log is compacted when it is dirty enough (`min.cleanable.dirty.ratio`),
or has dirty records older than `max.compaction.lag.ms`.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from barnabas.log.partition_log import PartitionLog
from barnabas.log.segment import Segment
from barnabas.log.settings import INT64_MAX
from barnabas.model import TopicPartition
from barnabas.wire.errors import KafkaError

logger = logging.getLogger(__name__)


class LogToClean(NamedTuple):
    log: PartitionLog
    segments: Sequence[Segment]
    """All that can be cleaned, including those that are clean already."""
    first_dirty_offset: int
    end_offset: int
    dirty_bytes: int
    total_bytes: int
    is_overdue: bool
    """It has a dirty record older than `max.compaction.lag.ms`."""

    @property
    def ratio(self) -> float:
        return self.dirty_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def is_due(self) -> bool:
        return self.dirty_bytes > 0 and (self.is_overdue or self.ratio > self.log.settings.min_cleanable_dirty_ratio)


def choose_dirtiest(
    logs: Iterable[PartitionLog], cleaner_offsets: Mapping[TopicPartition, int], now_ms: int
) -> LogToClean | None:
    dirtiest: LogToClean | None = None
    for log in logs:
        if not log.settings.compact or log.health.is_offline:
            continue
        try:
            found = measure(log, cleaner_offsets.get(log.topic_partition), now_ms)
        except (KafkaError, OSError) as error:
            logger.warning("%s cannot be compacted: %s", log.topic_partition, error)
            continue
        if found.is_due and (dirtiest is None or found.ratio > dirtiest.ratio):
            dirtiest = found
    return dirtiest


def measure(log: PartitionLog, cleaner_offset: int | None, now_ms: int) -> LogToClean:
    first_dirty_offset = cleaner_offset if cleaner_offset is not None else log.log_start_offset
    if not log.log_start_offset <= first_dirty_offset <= log.log_end_offset:
        # Retention deleted records beyond it, or the log was truncated below it: all records count as dirty.
        first_dirty_offset = log.log_start_offset
    sealed = [(segment, following.base_offset) for segment, following in pairwise(log.segments)]
    dirty = [segment for segment, next_base in sealed if next_base > first_dirty_offset]
    end_offset = _first_uncleanable_offset(log, dirty, now_ms)
    dirty = [segment for segment in dirty if segment.base_offset < end_offset]
    segments = [segment for segment, _ in sealed if segment.base_offset < end_offset]
    return LogToClean(
        log,
        segments,
        first_dirty_offset,
        end_offset,
        dirty_bytes=sum(segment.size for segment in dirty),
        total_bytes=sum(segment.size for segment in segments),
        is_overdue=_is_overdue(log, dirty, now_ms),
    )


def _first_uncleanable_offset(log: PartitionLog, dirty: Sequence[Segment], now_ms: int) -> int:
    """The base offset of the first segment that must not be cleaned."""
    end_offset = log.segments[max(log.segments.floor_slot(log.last_stable_offset), 0)].base_offset
    lag_ms = log.settings.min_compaction_lag_ms
    if lag_ms > 0:
        for segment in dirty:
            if segment.indexes.largest_timestamp() > now_ms - lag_ms:
                return min(end_offset, segment.base_offset)
    return end_offset


def _is_overdue(log: PartitionLog, dirty: Sequence[Segment], now_ms: int) -> bool:
    lag_ms = log.settings.max_compaction_lag_ms
    if lag_ms >= INT64_MAX:
        return False
    return any(0 < segment.rolling_timestamp() < now_ms - lag_ms for segment in dirty)
