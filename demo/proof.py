"""The proof: what was acknowledged against what was processed, from the actors' own notes.

A record is known by the id its sender gave it, and by the partition and offset where it lies. The same place noted
twice is a redelivery: a member died between processing and committing, and the next one did the work again. The same id
at two places is a double, an id that nobody processed is a loss, and neither may happen.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Proof(NamedTuple):
    sent: int
    received: int
    lost: int
    doubled: int
    out_of_order: int
    """Records that lie before an older one of their sender in the same partition."""
    misplaced: int
    """Records read from another place than the one that was acknowledged, or places that held two records."""
    redelivered: int

    def holds(self) -> bool:
        return self.sent > 0 and self.sent == self.received and not (self.lost or self.doubled or self.flaws())

    def flaws(self) -> int:
        return self.out_of_order + self.misplaced

    def line(self) -> str:
        sign = "=" if self.sent == self.received else "≠"
        counts = f"{self.sent:,} {sign} {self.received:,}, lost {self.lost:,}, doubled {self.doubled:,}"
        return f"sent {sign} received: {counts}"


Place = tuple[int, int]


def prove(acked: Iterable[tuple[str, Place]], processed: Iterable[tuple[str, Place]]) -> Proof:
    place_of: dict[str, Place] = {}
    doubled: set[str] = set()
    misplaced = 0
    for id_, place in acked:
        if place_of.setdefault(id_, place) != place:
            doubled.add(id_)
    id_at: dict[Place, str] = {}
    seen_at: dict[str, Place] = {}
    redelivered = 0
    for id_, place in processed:
        if place in id_at:
            redelivered += 1
            misplaced += id_at[place] != id_
            continue
        id_at[place] = id_
        if seen_at.setdefault(id_, place) != place:
            doubled.add(id_)
    lost = place_of.keys() - seen_at.keys()
    misplaced += sum(1 for id_, place in place_of.items() if id_ in seen_at and seen_at[id_] != place)
    return Proof(
        sent=len(place_of),
        received=len(seen_at),
        lost=len(lost),
        doubled=len(doubled),
        out_of_order=_out_of_order(id_at),
        misplaced=misplaced,
        redelivered=redelivered,
    )


def read_acked(paths: Iterable[Path]) -> list[tuple[str, Place]]:
    """Lines `id partition offset`."""
    notes = []
    for path in paths:
        for line in path.read_text().splitlines():
            id_, partition, offset = line.split()
            notes.append((id_, (int(partition), int(offset))))
    return notes


def read_processed(paths: Iterable[Path]) -> list[tuple[str, Place]]:
    """Lines `partition offset id`."""
    notes = []
    for path in paths:
        # A member killed while it wrote leaves a piece of a line; it had not committed that record either.
        whole, _, _ = path.read_text().rpartition("\n")
        for line in whole.splitlines():
            partition, offset, id_ = line.split()
            notes.append((id_, (int(partition), int(offset))))
    return notes


def _out_of_order(id_at: dict[Place, str]) -> int:
    newest: dict[tuple[int, str], int] = {}
    count = 0
    for partition, offset in sorted(id_at):
        sender, _, number = id_at[partition, offset].rpartition("-")
        if int(number) < newest.get((partition, sender), -1):
            count += 1
        else:
            newest[partition, sender] = int(number)
    return count
