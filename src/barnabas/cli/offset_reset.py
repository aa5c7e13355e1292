"""`barnabas group reset-offsets`: computes the new offset of each partition, within the bounds of its log."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.cli.connection import REQUEST_TIMEOUT_S, Connection, result_of
from barnabas.cli.errors import CommandFailed
from barnabas.cli.group_view import Partition
from barnabas.cli.quantities import time_ms

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, OffsetSpec

_CHOICES = "--to-earliest, --to-latest, --to-offset, --to-datetime, --shift-by"


class Change(NamedTuple):
    topic: str
    partition: int
    old: int | None
    new: int


class Target(NamedTuple):
    """The new position, in one of several ways."""

    name: str
    number: int = 0
    """The offset, the shift or the time in milliseconds."""

    @classmethod
    def from_options(
        cls, to_earliest: bool, to_latest: bool, to_offset: int | None, to_datetime: str | None, shift_by: int | None
    ) -> "Target":
        chosen = []
        if to_earliest:
            chosen.append(cls("earliest"))
        if to_latest:
            chosen.append(cls("latest"))
        if to_offset is not None:
            chosen.append(cls("offset", to_offset))
        if to_datetime is not None:
            chosen.append(cls("datetime", time_ms("--to-datetime", to_datetime)))
        if shift_by is not None:
            chosen.append(cls("shift", shift_by))
        if len(chosen) != 1:
            raise CommandFailed(
                "no new position is given" if not chosen else "more than one new position is given",
                hint=f"give one of {_CHOICES}",
            )
        return chosen[0]

    def offset(self, *, start: int, end: int, current: int | None, at_time: int | None) -> int:
        """The new offset of a partition that holds [start, end); `at_time` is None if no record is that new."""
        match self.name:
            case "earliest":
                wanted = start
            case "latest":
                wanted = end
            case "offset":
                wanted = self.number
            case "datetime":
                wanted = end if at_time is None else at_time
            case _:
                if current is None:
                    raise CommandFailed(
                        "nothing is committed, so there is nothing to shift from",
                        hint="give --to-earliest or --to-latest instead",
                    )
                wanted = current + self.number
        return min(max(wanted, start), end)


def targets_from(connection: Connection, admin: "AdminClient", topics: Sequence[str]) -> list[Partition]:
    """Partitions from `orders` (all of them) or `orders:0,2`."""
    named = [text.partition(":") for text in topics]
    found = connection.existing_topics(admin, [name for name, _, _ in named])
    partitions: list[Partition] = []
    for metadata, (name, _, indexes) in zip(found, named, strict=True):
        try:
            wanted = [int(index) for index in indexes.split(",")] if indexes else sorted(metadata.partitions)
        except ValueError as error:
            raise CommandFailed(f"{indexes!r} is not a list of partitions", hint=f"write --topic {name}:0,1") from error
        if unknown := [index for index in wanted if index not in metadata.partitions]:
            raise CommandFailed(
                f"{name} has no partition {unknown[0]}",
                hint=f"run barnabas topic describe {name} to see its partitions",
            )
        partitions += [(name, index) for index in wanted]
    return partitions


def plan_reset(
    admin: "AdminClient", partitions: Sequence[Partition], committed: Mapping[Partition, int], target: Target
) -> list[Change]:
    from confluent_kafka.admin import OffsetSpec

    start = _offsets(admin, partitions, OffsetSpec.earliest())
    end = _offsets(admin, partitions, OffsetSpec.latest())
    at_time = {}
    if target.name == "datetime":
        at_time = _offsets(admin, partitions, OffsetSpec.for_timestamp(target.number))
    changes = []
    for place in partitions:
        old = committed.get(place)
        new = target.offset(start=start[place], end=end[place], current=old, at_time=at_time.get(place))
        changes.append(Change(*place, old, new))
    return changes


def _offsets(admin: "AdminClient", partitions: Sequence[Partition], spec: "OffsetSpec") -> dict[Partition, int]:
    """By partition, without those that have no record at or after the time."""
    from confluent_kafka import TopicPartition

    asked = {TopicPartition(topic, partition): spec for topic, partition in partitions}
    found = admin.list_offsets(asked, request_timeout=REQUEST_TIMEOUT_S)
    offsets = {(place.topic, place.partition): result_of(future).offset for place, future in found.items()}
    return {place: offset for place, offset in offsets.items() if offset >= 0}
