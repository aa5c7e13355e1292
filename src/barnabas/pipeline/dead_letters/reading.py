"""Reads dead letters from their topic: the reason, and the record as it was. Without Spark."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from barnabas.client.cluster import Cluster
from barnabas.client.offsets import EARLIEST, LATEST
from barnabas.pipeline.flow import dead_letter_headers as names
from barnabas.pipeline.location import FIRST_VERSION
from barnabas.spark.source.fetch import read_range
from barnabas.spark.source.ranges import OffsetRange

READ_COMMITTED: Final = 1
_COLUMNS: Final = ("key", "value", "offset", "timestamp", "headers")

Header = tuple[str, bytes | None]


@dataclass(frozen=True)
class Letter:
    partition: int
    """Its place in the dead-letter topic."""
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    """The record's own."""
    error: str
    rule: str | None
    """None: it does not match its schema."""
    origin: str
    """The source or flow that refused it."""
    pipeline: str | None
    version: str
    source_topic: str | None
    source_partition: int | None
    source_offset: int | None
    timestamp_ms: int
    """Of the record itself, where it is known."""
    attempt: int
    """How many times it was sent again."""


@dataclass(frozen=True)
class CommittedRange:
    """The first offset and the last stable offset of each partition of a topic."""

    starts: Mapping[int, int]
    ends: Mapping[int, int]


def committed_range(cluster: Cluster, topic: str) -> CommittedRange:
    """Up to the last record that is committed. Empty if there is no such topic."""
    found = cluster.topics([topic]).get(topic)
    places = [] if found is None else [(topic, each.partition_index) for each in found.partitions]
    if not places:
        return CommittedRange({}, {})
    starts = cluster.offsets(places, EARLIEST)
    ends = cluster.offsets(places, LATEST, isolation_level=READ_COMMITTED)
    return CommittedRange(
        {place[1]: answer.offset for place, answer in starts.items()},
        {place[1]: answer.offset for place, answer in ends.items()},
    )


def letters(cluster: Cluster, topic: str, partition: int, start: int, end: int) -> Iterator[Letter]:
    """Committed ones from `start` on, in the order of the log."""
    if start >= end:
        return
    wanted = OffsetRange(topic, partition, start, end)
    for batch in read_range(cluster, wanted, columns=_COLUMNS, isolation_level=READ_COMMITTED, fail_on_data_loss=False):
        for row in batch.to_pylist():
            letter = _letter(partition, row)
            if letter is not None:
                yield letter


def _letter(partition: int, row: Mapping[str, Any]) -> Letter | None:
    """None: not a dead letter of a pipeline."""
    headers = [(header["key"], header["value"]) for header in row["headers"] or ()]
    known = _known(headers)
    origin = known.get(names.FLOW)
    if origin is None:
        return None
    timestamp_ms = _number(known.get(names.TIMESTAMP))
    if timestamp_ms is None:
        timestamp_ms = round(row["timestamp"].timestamp() * 1000) if row["timestamp"] else -1
    return Letter(
        partition=partition,
        offset=row["offset"],
        key=row["key"],
        value=row["value"],
        headers=tuple((name, value) for name, value in headers if not name.startswith(names.PREFIX)),
        error=known.get(names.ERROR, "no error is given"),
        rule=known.get(names.RULE),
        origin=origin,
        pipeline=known.get(names.PIPELINE),
        version=known.get(names.VERSION, FIRST_VERSION),
        source_topic=known.get(names.TOPIC),
        source_partition=_number(known.get(names.PARTITION)),
        source_offset=_number(known.get(names.OFFSET)),
        timestamp_ms=timestamp_ms,
        attempt=_number(known.get(names.ATTEMPT)) or 0,
    )


def _known(headers: Iterable[Header]) -> dict[str, str]:
    """The last header of each name: a record that was refused twice has the headers of both times, in order."""
    return {
        name: value.decode(errors="replace")
        for name, value in headers
        if name.startswith(names.PREFIX) and value is not None
    }


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdigit() else None
