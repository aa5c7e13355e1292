"""What there is to see at a moment: the actors, the partitions, and what has happened so far."""

import time
from dataclasses import dataclass, field
from typing import NamedTuple

from demo.actors import Actor


class PartitionView(NamedTuple):
    partition: int
    end: int
    done: int
    owner: str

    @property
    def lag(self) -> int:
        return max(0, self.end - self.done)


@dataclass(slots=True)
class Scene:
    partitions: int
    broker: str = "starting"
    senders: list[Actor] = field(default_factory=list)
    members: list[Actor] = field(default_factory=list)
    events: list[tuple[float, str]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def elapsed_s(self) -> float:
        return time.monotonic() - self.started

    def note(self, event: str) -> None:
        self.events.append((self.elapsed_s(), event))

    def acked(self) -> int:
        return sum(sender.count("acked") for sender in self.senders)

    def processed(self) -> int:
        return sum(member.count("processed") for member in self.members)

    def living_members(self) -> list[Actor]:
        return [member for member in self.members if member.is_alive()]

    def partition_views(self) -> list[PartitionView]:
        ends = _highest([sender.by_partition("ends") for sender in self.senders])
        done = _highest([member.by_partition("done") for member in self.members])
        owners = {partition: member.name for member in self.members for partition in member.assigned()}
        return [
            PartitionView(partition, ends.get(partition, 0), done.get(partition, 0), owners.get(partition, "nobody"))
            for partition in range(self.partitions)
        ]

    def lag(self) -> int:
        return sum(view.lag for view in self.partition_views())


def _highest(reports: list[dict[int, int]]) -> dict[int, int]:
    highest: dict[int, int] = {}
    for report in reports:
        for partition, offset in report.items():
            highest[partition] = max(highest.get(partition, 0), offset)
    return highest
