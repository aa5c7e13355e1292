"""What producers, readers and group members have seen, and the checks that it is consistent.

Each observation is checked at once, so a run fails at the moment at which a promise is first broken:

- An acknowledged record is at the offset that was acknowledged, and stays there.
- Every offset has one record, for all readers and for ever; no value is there twice.
- The offsets that a reader gets are dense.
- The high watermark that a reader sees never goes back.
- A committed offset never goes back.
- No two members own a partition in one generation.

A topic that is not synced with each write (`is_synced`) may lose its newest records in a power cut; then what was seen
before counts no more, nor does the answer to a request that was sent before it.
"""

from collections import Counter
from dataclasses import dataclass, field

from barnabas.testing.simulation.errors import SimulationError

Place = tuple[str, int]
"""Topic and partition."""


class BrokenPromise(SimulationError):
    """A client saw something that a broker must never show."""


@dataclass(slots=True)
class PartitionHistory:
    is_synced: bool
    values: dict[int, bytes] = field(default_factory=dict)
    """By offset: acknowledged or read."""
    offsets: dict[bytes, int] = field(default_factory=dict)
    acknowledged_end: int = 0
    high_watermarks: dict[str, int] = field(default_factory=dict)
    """By reader."""

    def forget(self) -> None:
        self.values.clear()
        self.offsets.clear()
        self.high_watermarks.clear()
        self.acknowledged_end = 0


class History:
    def __init__(self, synced: dict[Place, bool]) -> None:
        self.partitions = {place: PartitionHistory(is_synced) for place, is_synced in synced.items()}
        self.counts: Counter[str] = Counter()
        self.power_cuts = 0
        self._committed: dict[tuple[str, Place], int] = {}
        self._owners: dict[tuple[str, int, Place], str] = {}

    def on_power_cut(self) -> None:
        """Unsynced data may be lost: the newest records of topics without sync, and committed offsets."""
        self.power_cuts += 1
        for partition in self.partitions.values():
            if not partition.is_synced:
                partition.forget()
        self._committed.clear()
        self._owners.clear()

    # --- records

    def acknowledged(self, place: Place, base_offset: int, values: list[bytes], *, sent_after_cuts: int) -> None:
        """`sent_after_cuts`: the number of power cuts when the request was sent."""
        self.counts["acknowledged records"] += len(values)
        partition = self.partitions[place]
        if not partition.is_synced and sent_after_cuts != self.power_cuts:
            return
        self._see(place, base_offset, values, "acknowledged")
        partition.acknowledged_end = max(partition.acknowledged_end, base_offset + len(values))

    def read(
        self,
        reader: str,
        place: Place,
        from_offset: int,
        records: list[tuple[int, bytes]],
        high_watermark: int,
        *,
        sent_after_cuts: int,
    ) -> None:
        self.counts["read records"] += len(records)
        offsets = [offset for offset, _ in records]
        if offsets != list(range(from_offset, from_offset + len(offsets))):
            raise BrokenPromise(f"{reader} asked {place} for offset {from_offset} and got the offsets {offsets}")
        if offsets and offsets[-1] >= high_watermark:
            raise BrokenPromise(
                f"{reader} got offset {offsets[-1]} of {place}, whose high watermark is {high_watermark}"
            )
        partition = self.partitions[place]
        if not partition.is_synced and sent_after_cuts != self.power_cuts:
            return
        seen = partition.high_watermarks.get(reader, 0)
        if high_watermark < seen:
            raise BrokenPromise(f"the high watermark of {place} went back from {seen} to {high_watermark} for {reader}")
        partition.high_watermarks[reader] = high_watermark
        self._see(place, from_offset, [value for _, value in records], "read")

    def out_of_range(self, reader: str, place: Place, offset: int, *, sent_after_cuts: int) -> None:
        partition = self.partitions[place]
        if partition.is_synced or sent_after_cuts == self.power_cuts:
            known = max(partition.values, default=-1) + 1
            if offset <= known:
                raise BrokenPromise(f"{place} has no offset {offset} for {reader}, and reached {known} before")

    def _see(self, place: Place, base_offset: int, values: list[bytes], how: str) -> None:
        partition = self.partitions[place]
        for offset, value in enumerate(values, base_offset):
            before = partition.values.setdefault(offset, value)
            if before != value:
                raise BrokenPromise(
                    f"offset {offset} of {place} was {_short(before)}, and {_short(value)} was {how} there"
                )
            other = partition.offsets.setdefault(value, offset)
            if other != offset:
                raise BrokenPromise(
                    f"{_short(value)} was {how} at offset {offset} of {place}, and it is at {other} already"
                )

    def check_complete(self, place: Place, found: dict[int, bytes]) -> None:
        """`found`: everything that is in the log at the end."""
        for offset, value in sorted(self.partitions[place].values.items()):
            if found.get(offset) != value:
                raise BrokenPromise(
                    f"offset {offset} of {place} was {_short(value)}, and at the end it is {_short(found.get(offset))}"
                )

    # --- groups

    def committed(self, group: str, place: Place, offset: int, *, sent_after_cuts: int) -> None:
        self.counts["commits"] += 1
        if sent_after_cuts == self.power_cuts:
            self._committed[group, place] = max(offset, self._committed.get((group, place), -1))

    def fetched_commit(self, group: str, place: Place, offset: int, *, sent_after_cuts: int) -> None:
        known = self._committed.get((group, place), -1)
        if sent_after_cuts == self.power_cuts and offset < known:
            raise BrokenPromise(f"the committed offset of {group} in {place} went back from {known} to {offset}")

    def assigned(self, group: str, generation: int, member: str, places: list[Place], *, sent_after_cuts: int) -> None:
        self.counts["assignments"] += 1
        if sent_after_cuts != self.power_cuts:
            return
        for place in places:
            owner = self._owners.setdefault((group, generation, place), member)
            if owner != member:
                raise BrokenPromise(f"{owner} and {member} both own {place} in generation {generation} of {group}")


def _short(value: bytes | None) -> str:
    """Without the filler."""
    return "nothing" if value is None else repr(value.rstrip(b"\0").decode())
