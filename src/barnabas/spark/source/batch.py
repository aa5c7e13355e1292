"""The ranges of a batch read: from a start to an end that are fixed when it is planned. Does not need Spark."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.client.cluster import Cluster
from barnabas.model import TopicPartition
from barnabas.spark.errors import UserError
from barnabas.spark.options.positions import Earliest, Latest
from barnabas.spark.options.source import SourceOptions
from barnabas.spark.query.data_loss import Cause, DataLost, Loss, warning
from barnabas.spark.source import resolution
from barnabas.spark.source.cluster_connection import ClusterConnection
from barnabas.spark.source.history import FileRange, from_the_first, histories
from barnabas.spark.source.offsets import PartitionOffsets
from barnabas.spark.source.planning import plan
from barnabas.spark.source.ranges import OffsetRange
from barnabas.spark.source.topics import Assigned, Topics

if TYPE_CHECKING:
    from barnabas.spark.source.predicate import Predicate

_log = logging.getLogger(__name__)


def tasks(options: SourceOptions, predicate: "Predicate | None" = None) -> list[tuple[OffsetRange, ...]]:
    """The ranges of each task; `predicate`: the filters of the query that narrow them."""
    connection = ClusterConnection(options)
    topics = Topics(options.subscription)
    try:
        ranges, losses, assigned = connection.ask(lambda cluster: _ranges(cluster, options, topics))
        if losses and options.fail_on_data_loss:
            raise DataLost(losses)
        if losses:
            _log.warning("%s", warning(losses))
        if predicate is not None:
            ranges = connection.ask(_narrowed(ranges, predicate, options.isolation_level))
    finally:
        connection.close()
    return plan(
        ranges,
        min_partitions=options.min_partitions,
        max_records=options.max_records_per_partition,
        leaders=assigned.leaders,
    )


def _ranges(cluster: Cluster, options: SourceOptions, topics: Topics) -> tuple[list[OffsetRange], list[Loss], Assigned]:
    assigned = topics.assigned(cluster)
    log_start = resolution.earliest(cluster, assigned.partitions)
    kept = histories(
        options.history.path if options.history else None, assigned.ids, {place.topic for place in assigned.partitions}
    )
    earliest = kept.first_offsets(log_start)
    latest = resolution.latest(cluster, assigned.partitions, options.isolation_level)
    begin = earliest
    if not isinstance(options.start, Earliest):
        begin = resolution.starting(
            cluster,
            from_the_first(options.start, earliest),
            assigned.partitions,
            isolation_level=options.isolation_level,
            latest_if_no_timestamp=options.latest_if_no_timestamp,
        )
    end = latest
    if not isinstance(options.end, Latest):
        end = resolution.ending(cluster, options.end, assigned.partitions, isolation_level=options.isolation_level)
    ranges: list[OffsetRange] = []
    losses: list[Loss] = []
    for place in sorted(assigned.partitions):
        _check_order(place, begin[place], end[place], options)
        wanted = OffsetRange(*place, begin[place], end[place], assigned.ids.get(place.topic))
        found, lost = _available(wanted, earliest[place], latest[place])
        losses += lost
        for one in found:
            parts, lost = kept.divide(one, log_start[place])
            ranges += parts
            losses += lost
    return ranges, losses, assigned


def _check_order(place: TopicPartition, begin: int, end: int, options: SourceOptions) -> None:
    if begin > end and not isinstance(options.end, Latest):
        raise UserError(
            f"The read would start at offset {begin} of {place} and end before it, at {end}.",
            "let it end later, or start earlier (startingOffsets, startingTimestamp, endingOffsets, endingTimestamp)",
        )


def _available(wanted: OffsetRange, earliest: int, latest: int) -> tuple[list[OffsetRange], list[Loss]]:
    """The part of a range that is in the log. If it ends after the log, it is cut there, and that is a loss."""
    losses = []
    begin, end = wanted.start, wanted.end
    if begin < min(earliest, end):
        losses.append(Loss(wanted.topic, wanted.partition, begin, earliest, Cause.EXPIRED, end))
        begin = min(earliest, end)
    if max(begin, end) > latest:
        losses.append(Loss(wanted.topic, wanted.partition, max(begin, latest), latest, Cause.CUT_OFF, end))
        end = latest
    return ([replace(wanted, start=begin, end=end)] if begin < end else []), losses


def _narrowed(
    ranges: list[OffsetRange], predicate: "Predicate", isolation_level: int
) -> Callable[[Cluster], list[OffsetRange]]:
    """Only what can satisfy the predicate. A time only narrows the start: timestamps need not grow with offsets."""

    def ask(cluster: Cluster) -> list[OffsetRange]:
        wanted = [one for one in ranges if predicate.wants(one.topic, one.partition)]
        since: PartitionOffsets = {}
        # Kafka gives negative times another meaning: -1 is the end of the log.
        if predicate.since_ms is not None and predicate.since_ms >= 0:
            places = [TopicPartition(one.topic, one.partition) for one in wanted]
            since = resolution.first_since(cluster, places, predicate.since_ms, isolation_level)
        narrowed = []
        for one in wanted:
            # The broker does not know the times of a file: its rows are filtered when they are read.
            first = (
                one.start
                if isinstance(one, FileRange)
                else since.get(TopicPartition(one.topic, one.partition), one.start)
            )
            start, end = max(one.start, predicate.first_offset, first), min(one.end, predicate.end_offset)
            if start < end:
                narrowed.append(replace(one, start=start, end=end))
        return narrowed

    return ask
