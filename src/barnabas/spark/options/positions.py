"""Where to start and where to end, as the user gives it; `barnabas.spark.source.resolution` turns it into offsets.

Three options set the same end. If several are given, the first of these is used: one timestamp for all partitions, a
timestamp for each, offsets.
"""

from dataclasses import dataclass
from typing import Literal

from barnabas.model import TopicPartition
from barnabas.spark.errors import UserError
from barnabas.spark.options.values import Values, partition_numbers, whole_number

LATEST = -1
EARLIEST = -2
"""Kafka's own numbers for the two ends of a log; JSON may have them instead of an offset."""


@dataclass(frozen=True, slots=True)
class Earliest:
    """The first record in the log."""


@dataclass(frozen=True, slots=True)
class Latest:
    """After the last record; with `isolation.level` read_committed, the last stable offset."""


@dataclass(frozen=True, slots=True)
class AtOffsets:
    offsets: dict[TopicPartition, int]
    option: str


@dataclass(frozen=True, slots=True)
class AtTimestamp:
    """The first record whose timestamp is this or later."""

    timestamp_ms: int
    option: str


@dataclass(frozen=True, slots=True)
class AtTimestamps:
    timestamps_ms: dict[TopicPartition, int]
    option: str


Position = Earliest | Latest | AtOffsets | AtTimestamp | AtTimestamps

Edge = Literal["starting", "ending"]


def position(values: Values, edge: Edge, default: Position) -> Position:
    for_all, for_each, offsets = f"{edge}Timestamp", f"{edge}OffsetsByTimestamp", f"{edge}Offsets"
    text = values.text(for_all)
    if text is not None:
        timestamp_ms = whole_number(text)
        if timestamp_ms is None or timestamp_ms < 0:
            raise UserError(
                f"The option {for_all} is {text!r}.",
                "it is one whole number: milliseconds since 1970, like 1767225600000",
            )
        return AtTimestamp(timestamp_ms, for_all)
    text = values.text(for_each)
    if text is not None:
        timestamps_ms = _flat(partition_numbers(for_each, text))
        for partition, timestamp_ms in timestamps_ms.items():
            if timestamp_ms < 0:
                raise UserError(
                    f"The option {for_each} has the time {timestamp_ms} for {partition}.",
                    "times are milliseconds since 1970, like 1767225600000",
                )
        return AtTimestamps(timestamps_ms, for_each)
    text = values.text(offsets)
    if text is None:
        return default
    if text.lower() == "latest":
        return Latest()
    if text.lower() == "earliest":
        return Earliest()
    if not text.startswith("{"):
        raise UserError(
            f"The option {offsets} is {text!r}.",
            'it is earliest, latest, or offsets as JSON, like {"topicA": {"0": 23, "1": -2}}; a time goes into '
            f"{edge}Timestamp",
        )
    found = _flat(partition_numbers(offsets, text))
    for partition, offset in found.items():
        if offset < EARLIEST:
            raise UserError(
                f"The option {offsets} has the offset {offset} for {partition}.",
                "use an offset of 0 or more, -1 for the latest or -2 for the earliest",
            )
    return AtOffsets(found, offsets)


def check_batch(start: Position, end: Position) -> None:
    """A batch read needs a start that is not the end, and the other way round."""
    if isinstance(start, Latest):
        raise UserError(
            "A batch read cannot start at the latest offsets: there would be nothing to read.",
            "use startingOffsets earliest, offsets as JSON, or startingTimestamp",
        )
    if isinstance(end, Earliest):
        raise UserError(
            "A batch read cannot end at the earliest offsets: there would be nothing to read.",
            "use endingOffsets latest, offsets as JSON, or endingTimestamp",
        )
    if isinstance(start, AtOffsets):
        _refuse_in_json(start, LATEST, "start at the latest offset (-1)", "give an offset, or -2 for the earliest")
    if isinstance(end, AtOffsets):
        _refuse_in_json(end, EARLIEST, "end at the earliest offset (-2)", "give an offset, or -1 for the latest")
    if isinstance(start, AtOffsets) and isinstance(end, AtOffsets):
        _check_pair(start.offsets, end.offsets, start.option, end.option)
    if isinstance(start, AtTimestamps) and isinstance(end, AtTimestamps):
        _check_pair(start.timestamps_ms, end.timestamps_ms, start.option, end.option)


def named_partitions(partitions: set[TopicPartition]) -> str:
    """For an error: sorted, and no longer than a line or two."""
    names = [str(partition) for partition in sorted(partitions)]
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _check_pair(
    starts: dict[TopicPartition, int], ends: dict[TopicPartition, int], start_option: str, end_option: str
) -> None:
    if unpaired := starts.keys() ^ ends.keys():
        raise UserError(
            f"{start_option} and {end_option} name different partitions: {named_partitions(set(unpaired))} are in "
            "only one of them.",
            "name the same partitions in both",
        )
    for partition, start in starts.items():
        if start > ends[partition] >= 0:
            raise UserError(
                f"{start_option} is {start} for {partition}, which is after its {end_option}, {ends[partition]}.",
                "swap them, or correct one",
            )


def _refuse_in_json(position: AtOffsets, offset: int, what: str, hint: str) -> None:
    if found := {partition for partition, given in position.offsets.items() if given == offset}:
        raise UserError(f"A batch read cannot {what}, as {position.option} says for {named_partitions(found)}.", hint)


def _flat(numbers: dict[str, dict[int, int]]) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic, partition): number
        for topic, partitions in numbers.items()
        for partition, number in partitions.items()
    }
