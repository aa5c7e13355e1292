"""The position of a stream: where it begins, how far a batch goes, and which records that means.

It lives on the driver as long as the query runs and does not need Spark. Everything that must survive the process is in
the offsets it returns (`offsets`): Spark writes them to the checkpoint before a batch runs, and passes them back.

Two rules keep it exact. The range of a batch follows from its two offsets alone, so that a batch that is run again
reads the same records. And an unchanged offset is returned as exactly the same text, so that Spark sees that there is
nothing to do.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from barnabas.client.cluster import Cluster
from barnabas.model import TopicPartition
from barnabas.spark.errors import UserError
from barnabas.spark.options.positions import AtOffsets
from barnabas.spark.options.source import SourceOptions
from barnabas.spark.options.subscription import PipelineFlow
from barnabas.spark.query.backlog import dated
from barnabas.spark.query.data_loss import Cause, DataLost, Loss, warning
from barnabas.spark.source import resolution
from barnabas.spark.source.admission import Delay, limited, waiting
from barnabas.spark.source.alignment import aligned
from barnabas.spark.source.cluster_connection import ClusterConnection
from barnabas.spark.source.followed import Followed
from barnabas.spark.source.gaps import is_new_partition, ranges_between, vanished
from barnabas.spark.source.log_times import LogTimes
from barnabas.spark.source.offsets import PartitionOffsets, StreamOffsets, as_json, parse
from barnabas.spark.source.planning import plan
from barnabas.spark.source.ranges import OffsetRange
from barnabas.spark.source.topics import Assigned, Topics

T = TypeVar("T")

_log = logging.getLogger(__name__)

OffsetsJson = Mapping[str, Any]
"""Offsets as Spark has them."""


class Stream:
    def __init__(self, options: SourceOptions, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._options = options
        self.connection = ClusterConnection(options)
        self._topics = Topics(options.subscription, cache_ms=options.metadata_cache_ms)
        self._followed = Followed(options.subscription) if isinstance(options.subscription, PipelineFlow) else None
        self._now_s = now_s
        self._delay = Delay(options.min_offsets_per_trigger or 0, options.max_trigger_delay_ms)
        self._times = LogTimes(options.isolation_level)
        self._since_ms = 0
        """With `maxTimePerTrigger`: where the search for the next cut starts."""
        self._initial: dict[str, Any] | None = None
        self._assigned: Assigned | None = None
        self._latest: PartitionOffsets | None = None
        self._target: StreamOffsets | None = None
        """With AvailableNow: the end of the last batch."""
        self._wants_target = False
        self._is_pinned = False
        """With AvailableNow, if the topic depends on the checkpoint, which is unknown at first."""
        self._is_checked = False
        """Whether this process has checked that the start of a batch is still in the log."""

    def begin(self, kept: Mapping[TopicPartition, int] | None = None) -> StreamOffsets:
        """Where a new query starts; `kept` are the offsets of an earlier attempt that has read nothing."""

        def ask(cluster: Cluster) -> StreamOffsets:
            assigned = self._topics.assigned(cluster)
            if kept is not None:
                offsets = {place: offset for place, offset in kept.items() if place in assigned.partitions}
            else:
                offsets = resolution.starting(
                    cluster,
                    self._options.start,
                    assigned.partitions,
                    isolation_level=self._options.isolation_level,
                    latest_if_no_timestamp=self._options.latest_if_no_timestamp,
                )
                self._check_not_beyond(cluster, offsets)
            return StreamOffsets(offsets, dict(assigned.ids))

        initial = self._ask(ask)
        if self._target is not None:
            # Looked up before the start, so "latest" may be later.
            ends = self._target.partitions
            places = {place: min(offset, ends.get(place, offset)) for place, offset in initial.partitions.items()}
            initial = replace(initial, partitions=places)
        self._initial = initial.as_json()
        return initial

    def stop_at_current_end(self) -> None:
        """For AvailableNow: read nothing that is written from now on."""
        if self._followed is not None and not self._is_pinned:
            self._wants_target = True
            return

        def ask(cluster: Cluster) -> StreamOffsets:
            assigned = self._topics.assigned(cluster, missing_is_fine=True)
            return StreamOffsets(self._ends(cluster, StreamOffsets({}), assigned), dict(assigned.ids))

        self._target = self._ask(ask)

    def end_of_batch(self, start_json: OffsetsJson, *, everything: bool) -> dict[str, Any]:
        """The end of the batch that begins there; the start itself if there is none to run."""
        start = parse(start_json)
        self._pin(start)

        def ask(cluster: Cluster) -> tuple[PartitionOffsets, PartitionOffsets, Assigned]:
            self._assigned = assigned = self._present(cluster, start)
            latest = self._ends(cluster, start, assigned) if self._target is None else _left(self._target, assigned)
            if self._followed is not None:
                latest = self._followed.readable(cluster, start.partitions, latest)
            anew = [place for place in latest if is_new_partition(place, start, assigned.ids)]
            begin = {**start.partitions, **resolution.earliest_of_existing(cluster, anew)}
            if anew:
                self._times.forget()
            return latest, begin, assigned

        latest, begin, assigned = self._ask(ask)
        if self._options.fail_on_data_loss:
            self._report(vanished(start, latest, assigned.ids))
        self._latest = latest
        end = latest if everything else self._admitted(begin, latest)
        if start_json == self._initial:
            # Spark runs the first batch even if it is empty, and asks for the start again if it fails.
            return StreamOffsets(start.partitions if end is None else end, dict(assigned.ids), start).as_json()
        if end is None or (
            end == start.partitions and not any(is_new_partition(place, start, assigned.ids) for place in end)
        ):
            return dict(start_json)
        return StreamOffsets(end, dict(assigned.ids)).as_json()

    def tasks(self, start_json: OffsetsJson, end_json: OffsetsJson) -> list[tuple[OffsetRange, ...]]:
        """The ranges of each task of the batch between these offsets."""
        if start_json == end_json:
            return []
        end = parse(end_json)
        start = end.start or parse(start_json)
        self._pin(end)
        ranges, losses, assigned = self._ask(lambda cluster: self._ranges(cluster, start, end))
        self._report(losses)
        self._is_checked = True
        return plan(
            ranges,
            min_partitions=self._options.min_partitions,
            max_records=self._options.max_records_per_partition,
            leaders=assigned.leaders,
        )

    def _pin(self, known: StreamOffsets) -> None:
        """A query of a pipeline's flow reads the topic that it began with."""
        if self._followed is None or self._is_pinned:
            return
        begun_with = self._followed.begun_with(known)
        if begun_with is not None:
            self._topics = Topics(begun_with, cache_ms=self._options.metadata_cache_ms)
            self._is_pinned = True
            if self._wants_target:
                self.stop_at_current_end()

    def latest(self) -> dict[str, dict[str, int]] | None:
        """The end of the log when it was last looked up, to see how far behind the query is."""
        return as_json(self._latest) if self._latest else None

    def close(self) -> None:
        self.connection.close()

    def _check_not_beyond(self, cluster: Cluster, offsets: PartitionOffsets) -> None:
        """For a new query: a different error than for lost records."""
        if not isinstance(self._options.start, AtOffsets) or not self._options.fail_on_data_loss:
            return
        latest = resolution.latest(cluster, offsets, self._options.isolation_level)
        for place, offset in sorted(offsets.items()):
            if offset > latest[place]:
                raise UserError(
                    f"The query would start at offset {offset} of {place}, which ends at {latest[place]}.",
                    "correct startingOffsets; -1 means the end",
                )

    def _ask(self, question: Callable[[Cluster], T]) -> T:
        def anew(cluster: Cluster) -> T:
            try:
                return question(cluster)
            except Exception:
                self._topics.forget()
                raise

        return self.connection.ask(anew)

    def _present(self, cluster: Cluster, known: StreamOffsets) -> Assigned:
        """The partitions to read. A missing one is checked again before it counts as deleted: a broker that has just
        started may not know it yet, and a partition that is dropped here is read from its first record later."""
        assigned = self._topics.assigned(cluster, missing_is_fine=True)
        for _ in range(1, self._options.offset_attempts):
            if known.partitions.keys() <= assigned.partitions:
                break
            self.connection.pause()
            self._topics.forget()
            assigned = self._topics.assigned(cluster, missing_is_fine=True)
        return assigned

    def _ends(self, cluster: Cluster, known: StreamOffsets, assigned: Assigned) -> PartitionOffsets:
        """The ends of the logs. One that ends before a known offset is asked again: a new leader may be behind."""
        for attempt in range(self._options.offset_attempts):
            if attempt:
                self.connection.pause()
            found = resolution.latest(cluster, assigned.partitions, self._options.isolation_level)
            if not any(loss.cause is Cause.CUT_OFF for loss in vanished(known, found, assigned.ids)):
                break
        return found

    def _admitted(self, begin: PartitionOffsets, latest: PartitionOffsets) -> PartitionOffsets | None:
        """None: wait for more."""
        options = self._options
        # With AvailableNow the rest would wait forever: nothing is added.
        may_wait = options.min_offsets_per_trigger is not None and self._target is None
        if may_wait and self._delay.holds_back(waiting(begin, latest), self._now_s() * 1000):
            return None
        if options.max_time_per_trigger_ms is not None:
            return self._aligned(begin, latest, options.max_time_per_trigger_ms)
        if options.max_offsets_per_trigger is not None:
            return limited(options.max_offsets_per_trigger, begin, latest)
        return latest

    def _aligned(self, begin: PartitionOffsets, latest: PartitionOffsets, span_ms: int) -> PartitionOffsets:
        found = self._ask(
            lambda cluster: aligned(
                begin,
                latest,
                lambda timestamp_ms: self._times.first_since(cluster, timestamp_ms, begin, latest),
                span_ms=span_ms,
                limit=self._options.max_offsets_per_trigger,
                since_ms=self._since_ms,
            )
        )
        self._since_ms = found.since_ms
        return found.ends

    def _ranges(
        self, cluster: Cluster, start: StreamOffsets, end: StreamOffsets
    ) -> tuple[list[OffsetRange], list[Loss], Assigned]:
        assigned = self._assigned or self._topics.assigned(cluster, missing_is_fine=True)
        look_up = frozenset(
            place for place in end.partitions if not self._is_checked or is_new_partition(place, start, end.ids)
        )
        ranges, losses = ranges_between(
            start,
            end,
            ids_now=assigned.ids,
            looked_up=look_up,
            earliest=resolution.earliest_of_existing(cluster, look_up),
        )
        return ranges, losses, assigned

    def _report(self, losses: Sequence[Loss]) -> None:
        if not losses:
            return
        losses = dated(self.connection.cluster, losses)
        if self._options.fail_on_data_loss:
            raise DataLost(losses)
        _log.warning("%s", warning(losses))


def _left(target: StreamOffsets, assigned: Assigned) -> PartitionOffsets:
    """The target that was set when the query began, without topics deleted since."""
    return {
        place: offset
        for place, offset in target.partitions.items()
        if place in assigned.partitions and not target.is_another_topic(place.topic, assigned.ids)
    }
