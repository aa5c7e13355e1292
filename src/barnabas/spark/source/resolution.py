"""Turns positions into offsets: what "earliest", "latest" or a time mean in these partitions, now.

With read_committed, "latest" is the last stable offset, as the broker reports it for that isolation level.
"""

from collections.abc import Iterable, Mapping

from barnabas.client.cluster import Cluster
from barnabas.client.errors import Refused
from barnabas.model import TopicPartition
from barnabas.spark.errors import UserError
from barnabas.spark.options.positions import (
    EARLIEST,
    LATEST,
    AtOffsets,
    AtTimestamp,
    AtTimestamps,
    Earliest,
    Latest,
    Position,
    named_partitions,
)
from barnabas.spark.source.offsets import PartitionOffsets
from barnabas.wire.errors import ErrorCode

_GONE = frozenset({ErrorCode.unknown_topic_or_partition, ErrorCode.unknown_topic_id})


def latest(cluster: Cluster, partitions: Iterable[TopicPartition], isolation_level: int) -> PartitionOffsets:
    return _ask(cluster, dict.fromkeys(partitions, LATEST), isolation_level)


def earliest(cluster: Cluster, partitions: Iterable[TopicPartition]) -> PartitionOffsets:
    return _ask(cluster, dict.fromkeys(partitions, EARLIEST), 0)


def earliest_of_existing(cluster: Cluster, partitions: Iterable[TopicPartition]) -> PartitionOffsets:
    """Partitions that are gone are left out."""
    return _ask(cluster, dict.fromkeys(partitions, EARLIEST), 0, gone_is_fine=True)


def starting(
    cluster: Cluster,
    position: Position,
    partitions: frozenset[TopicPartition],
    *,
    isolation_level: int,
    latest_if_no_timestamp: bool,
) -> PartitionOffsets:
    """Where to start in each partition."""
    found = _resolved(cluster, position, partitions, isolation_level)
    unmatched = {partition for partition, offset in found.items() if offset is None}
    if unmatched and not latest_if_no_timestamp:
        raise UserError(
            f"No record in {named_partitions(unmatched)} has a timestamp at or after {_said(position, unmatched)}.",
            "choose an earlier time, or start at the end of these partitions with "
            'option("startingOffsetsByTimestampStrategy", "latest")',
        )
    return _complete(cluster, found, isolation_level)


def ending(
    cluster: Cluster, position: Position, partitions: frozenset[TopicPartition], *, isolation_level: int
) -> PartitionOffsets:
    """Where to end in each partition, exclusive; at its end if no record has the given time or a later one."""
    return _complete(cluster, _resolved(cluster, position, partitions, isolation_level), isolation_level)


def _resolved(
    cluster: Cluster, position: Position, partitions: frozenset[TopicPartition], isolation_level: int
) -> dict[TopicPartition, int | None]:
    """None if no record has the time or a later one."""
    if isinstance(position, Earliest):
        return {**earliest(cluster, partitions)}
    if isinstance(position, Latest):
        return {**latest(cluster, partitions, isolation_level)}
    if isinstance(position, AtOffsets):
        _check_all_named(position.option, position.offsets, partitions)
        symbolic = {place: offset for place, offset in position.offsets.items() if offset < 0}
        return {**position.offsets, **_ask(cluster, symbolic, isolation_level)}
    if isinstance(position, AtTimestamp):
        timestamps = dict.fromkeys(partitions, position.timestamp_ms)
    else:
        _check_all_named(position.option, position.timestamps_ms, partitions)
        timestamps = position.timestamps_ms
    found = _ask(cluster, timestamps, isolation_level)
    return {place: None if offset < 0 else offset for place, offset in found.items()}


def _complete(cluster: Cluster, found: Mapping[TopicPartition, int | None], isolation_level: int) -> PartitionOffsets:
    unmatched = [place for place, offset in found.items() if offset is None]
    ends = latest(cluster, unmatched, isolation_level)
    return {place: ends[place] if offset is None else offset for place, offset in found.items()}


def _check_all_named(option: str, named: Mapping[TopicPartition, int], partitions: frozenset[TopicPartition]) -> None:
    strange, forgotten = named.keys() - partitions, partitions - named.keys()
    if strange:
        raise UserError(
            f"The option {option} names {named_partitions(set(strange))}, which the read does not include.",
            "name exactly the partitions that are read; these are " + (named_partitions(set(partitions)) or "none"),
        )
    if forgotten:
        raise UserError(
            f"The option {option} does not name {named_partitions(set(forgotten))}.",
            "name every partition; in offsets, -2 means the earliest and -1 the latest",
        )


def _ask(
    cluster: Cluster, timestamps: Mapping[TopicPartition, int], isolation_level: int, *, gone_is_fine: bool = False
) -> PartitionOffsets:
    if not timestamps:
        return {}
    offsets: PartitionOffsets = {}
    asked = {(topic, partition): timestamp for (topic, partition), timestamp in timestamps.items()}
    answers = cluster.offsets(asked, asked, isolation_level=isolation_level)
    for (topic, partition), answer in answers.items():
        if answer.error in _GONE and gone_is_fine:
            continue
        if answer.error != ErrorCode.none:
            reason = answer.error.name.upper()
            raise Refused(answer.error, f"the offsets of {topic}-{partition} cannot be fetched: {reason}")
        offsets[TopicPartition(topic, partition)] = answer.offset
    return offsets


def _said(position: Position, places: set[TopicPartition]) -> str:
    if isinstance(position, AtTimestamp):
        return f"{position.option}, {position.timestamp_ms}"
    if isinstance(position, AtTimestamps):
        times = sorted({position.timestamps_ms[place] for place in places})
        return f"{position.option}, {', '.join(map(str, times[:5]))}"
    raise AssertionError("only times have no match")


def first_since(
    cluster: Cluster, partitions: Iterable[TopicPartition], timestamp_ms: int, isolation_level: int
) -> PartitionOffsets:
    """The first record with this timestamp or a later one; if there is none, the end."""
    found = _ask(cluster, dict.fromkeys(partitions, timestamp_ms), isolation_level)
    return _complete(cluster, {place: None if at < 0 else at for place, at in found.items()}, isolation_level)
