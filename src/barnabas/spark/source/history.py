"""Divides the ranges of a batch read: what is in the files of a history, and what is only in the log.

The two meet at one offset per partition, fixed when the read is planned: the manifest's `tiered_through`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from barnabas.history.errors import HistoryError
from barnabas.history.manifest import Manifest, load, topic_folder
from barnabas.model import TopicPartition
from barnabas.spark.errors import UserError
from barnabas.spark.options.positions import EARLIEST, AtOffsets, Position
from barnabas.spark.query.data_loss import Cause, Loss
from barnabas.spark.source.offsets import PartitionOffsets
from barnabas.spark.source.ranges import OffsetRange


@dataclass(frozen=True, slots=True, order=True)
class FileRange(OffsetRange):
    """Offsets that are read from a Parquet file."""

    file: str = ""


@dataclass(frozen=True)
class Histories:
    """Of the topics of a read; empty if the read has none."""

    path: str = ""
    manifests: Mapping[str, Manifest] | None = None

    def first_offsets(self, log_starts: PartitionOffsets) -> PartitionOffsets:
        """Where each partition begins: in the history, or in the log if that goes further back."""
        return {place: min(start, self._start(place, start)) for place, start in log_starts.items()}

    def _start(self, place: TopicPartition, log_start: int) -> int:
        manifest = (self.manifests or {}).get(place.topic)
        partition = manifest.partitions.get(place.partition) if manifest else None
        return partition.start if partition else log_start

    def divide(self, wanted: OffsetRange, log_start: int) -> tuple[list[OffsetRange], list[Loss]]:
        """Files where they exist; before and after them, the log."""
        manifest = (self.manifests or {}).get(wanted.topic)
        partition = manifest.partitions.get(wanted.partition) if manifest else None
        if partition is None:
            return _in_log(wanted, wanted.start, wanted.end, log_start)
        found: list[OffsetRange] = []
        losses: list[Loss] = []
        at = wanted.start
        folder = topic_folder(self.path, wanted.topic).resolve()
        for piece in partition.overlapping(wanted.start, wanted.end):
            start, end = max(piece.start, wanted.start), min(piece.end, wanted.end)
            _extend(found, losses, _in_log(wanted, at, start, log_start))
            if piece.file is not None:
                found.append(
                    FileRange(
                        wanted.topic,
                        wanted.partition,
                        start,
                        end,
                        wanted.topic_id,
                        str(folder / piece.file),
                    )
                )
            elif piece.is_lost:
                losses.append(Loss(wanted.topic, wanted.partition, start, end, Cause.EXPIRED, end))
            at = end
        _extend(found, losses, _in_log(wanted, at, wanted.end, log_start))
        return found, losses


def histories(path: str | None, ids: Mapping[str, str], topics: set[str]) -> Histories:
    """UserError if one is missing, or belongs to another topic of the same name."""
    if path is None:
        return Histories()
    try:
        manifests = {topic: load(path, topic) for topic in sorted(topics)}
    except HistoryError as failure:
        raise UserError(f"{failure.message}.", failure.hint) from failure
    for topic, manifest in manifests.items():
        now = ids.get(topic)
        if now is not None and manifest.topic_id is not None and manifest.topic_id != now:
            raise UserError(
                f"The topic {topic} was deleted and created again: the history in {path} is that of the old one.",
                "read the old one's files alone (spark.read.parquet), or name the new one's history",
            )
    return Histories(path, manifests)


def from_the_first(position: Position, first: PartitionOffsets) -> Position:
    """-2 in startingOffsets means the beginning of the history."""
    if not isinstance(position, AtOffsets):
        return position
    known = {
        place: first.get(place, offset) if offset == EARLIEST else offset for place, offset in position.offsets.items()
    }
    return AtOffsets(known, position.option)


def _in_log(wanted: OffsetRange, start: int, end: int, log_start: int) -> tuple[list[OffsetRange], list[Loss]]:
    if start >= end:
        return [], []
    losses = []
    if start < log_start:
        first = min(log_start, end)
        losses.append(Loss(wanted.topic, wanted.partition, start, first, Cause.EXPIRED, end))
        start = first
    return ([replace(wanted, start=start, end=end)] if start < end else []), losses


def _extend(found: list[OffsetRange], losses: list[Loss], more: tuple[list[OffsetRange], list[Loss]]) -> None:
    found += more[0]
    losses += more[1]
