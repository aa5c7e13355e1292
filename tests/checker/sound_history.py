"""Generates valid histories, with a small correct broker in memory and a seed.

Producers, some with transactions, readers of both isolations and a group take turns at random. Answers are lost,
clients vanish with their transactions open. In the end everything is read.
"""

from dataclasses import dataclass, field
from random import Random

from barnabas.testing.checker.events import (
    Ack,
    AnyEvent,
    Assign,
    Begin,
    Client,
    Commit,
    Committed,
    Committing,
    End,
    Fault,
    Fenced,
    Final,
    Header,
    Isolation,
    Offsets,
    Poll,
    Seek,
    Send,
)

PARTITIONS = ("t-0", "t-1", "t-2")
GROUP = "g"
MARKER = ""
"""Takes an offset, and no reader gets it."""


@dataclass
class Stored:
    """The broker's state."""

    records: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: {each: [] for each in PARTITIONS})
    """partition: (value, txn) by offset"""
    state: dict[str, str] = field(default_factory=dict)
    """txn: open, commit or abort"""
    committed: dict[str, int] = field(default_factory=dict)

    def end_txn(self, txn: str, outcome: str) -> None:
        self.state[txn] = outcome
        for records in self.records.values():
            if any(each == txn for _, each in records):
                records.append((MARKER, ""))

    def last_stable_offset(self, partition: str) -> int:
        records = self.records[partition]
        for offset, (_, txn) in enumerate(records):
            if txn and self.state[txn] == "open":
                return offset
        return len(records)

    def read(
        self, partition: str, position: int, isolation: Isolation, limit: int
    ) -> tuple[list[tuple[int, str]], int]:
        is_committed = isolation == "read_committed"
        end = self.last_stable_offset(partition) if is_committed else len(self.records[partition])
        found: list[tuple[int, str]] = []
        while position < end and len(found) < limit:
            value, txn = self.records[partition][position]
            if value != MARKER and not (is_committed and txn and self.state[txn] == "abort"):
                found.append((position, value))
            position += 1
        return found, position


class SoundRun:
    def __init__(self, seed: int, steps: int = 120) -> None:
        self.rng = Random(seed)
        self.events: list[AnyEvent] = []
        self.broker = Stored()
        self.t = 0.0
        self.count = 0
        self.positions: dict[str, dict[str, int]] = {}
        self.open: dict[str, str] = {}
        """transactional process: its open transaction"""
        self.isolation: dict[str, Isolation] = {
            "rc": "read_committed",
            "ru": "read_uncommitted",
            "m0": "read_committed",
        }
        for name in ("p0", "p1", "x0", "x1"):
            self.events.append(Client(t=self.tick(), p=name, transactional_id=name if name[0] == "x" else ""))
        for name, isolation in self.isolation.items():
            group = GROUP if name == "m0" else ""
            self.events.append(Client(t=self.tick(), p=name, isolation=isolation, group=group))
            self.assign(name)
        actions = (self.plain_send, self.txn_step, self.txn_step, self.poll, self.poll, self.group_step)
        for _ in range(steps):
            self.rng.choice(actions)()
        self.finish()

    def tick(self) -> float:
        self.t = round(self.t + self.rng.uniform(0.001, 0.01), 6)
        return self.t

    def value(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def assign(self, name: str) -> None:
        self.positions[name] = dict.fromkeys(PARTITIONS, 0)
        self.events.append(Assign(t=self.tick(), p=name, positions=dict.fromkeys(PARTITIONS, 0)))

    def send(self, name: str, txn: str = "") -> None:
        partition = self.rng.choice(PARTITIONS)
        values = [self.value() for _ in range(self.rng.randint(1, 4))]
        self.events.append(Send(t=self.tick(), p=name, partition=partition, values=values, txn=txn))
        if not txn and self.rng.random() < 0.05:
            return  # never arrived
        offsets = []
        for value in values:
            offsets.append(len(self.broker.records[partition]))
            self.broker.records[partition].append((value, txn))
        if txn or self.rng.random() < 0.9:
            acks = [
                (value, -1 if self.rng.random() < 0.05 else offset)
                for value, offset in zip(values, offsets, strict=True)
            ]
            self.events.append(Ack(t=self.tick(), p=name, partition=partition, acks=acks))

    def plain_send(self) -> None:
        self.send(self.rng.choice(("p0", "p1")))

    def txn_step(self) -> None:
        name = self.rng.choice(("x0", "x1"))
        txn = self.open.get(name)
        if txn is None:
            txn = self.open[name] = f"{name}:{self.value()}"
            self.broker.state[txn] = "open"
            self.events.append(Begin(t=self.tick(), p=name, txn=txn, transactional_id=name))
        dice = self.rng.random()
        if dice < 0.6:
            self.send(name, txn)
        elif dice < 0.7:
            self.broker.end_txn(txn, "abort")
            self.events.append(End(t=self.tick(), p=name, txn=self.open.pop(name), outcome="abort"))
        else:
            self.events.append(Committing(t=self.tick(), p=name, txn=txn))
            outcome = "commit" if self.rng.random() < 0.9 else self.rng.choice(("commit", "abort"))
            self.broker.end_txn(txn, outcome)
            reported = "commit" if outcome == "commit" and self.rng.random() < 0.9 else "unknown"
            self.events.append(End(t=self.tick(), p=name, txn=self.open.pop(name), outcome=reported))

    def poll(self, name: str = "") -> None:
        name = name or self.rng.choice(("rc", "ru"))
        if self.rng.random() < 0.05:
            partition = self.rng.choice(PARTITIONS)
            offset = self.positions[name][partition] = self.rng.randint(0, self.positions[name][partition])
            self.events.append(Seek(t=self.tick(), p=name, partition=partition, offset=offset))
        self.take(name, limit=6)

    def take(self, name: str, limit: int, partitions: tuple[str, ...] = PARTITIONS) -> bool:
        records = {}
        for partition in partitions:
            found, position = self.broker.read(
                partition, self.positions[name][partition], self.isolation[name], limit=limit
            )
            self.positions[name][partition] = position
            if found:
                records[partition] = found
        if records:
            self.events.append(Poll(t=self.tick(), p=name, records=records))
        return bool(records)

    def group_step(self) -> None:
        self.take("m0", limit=5)
        offsets = dict(self.positions["m0"])
        number = self.count = self.count + 1
        self.events.append(Commit(t=self.tick(), p="m0", group=GROUP, offsets=offsets, number=number))
        if self.rng.random() < 0.9:
            self.broker.committed.update(offsets)
            self.events.append(Committed(t=self.tick(), p="m0", number=number))
        self.tell_offsets()

    def tell_offsets(self) -> None:
        if self.broker.committed:
            asked = self.tick()
            committed = dict(self.broker.committed)
            self.events.append(Offsets(t=self.tick(), p="auditor", group=GROUP, asked=asked, offsets=committed))

    def finish(self) -> None:
        """Two clients vanish, their successors fence them, the group catches up, and everything is read."""
        for name, txn in self.open.items():
            self.events.append(Fault(t=self.tick(), p="nemesis", action="kill", target=name))
            self.broker.end_txn(txn, "abort")
        for name in ("x0", "x1"):
            self.events.append(Fenced(t=self.tick(), p="runner", transactional_id=name))
        while self.take("m0", limit=50):
            pass
        self.tell_offsets()
        for isolation in ("read_committed", "read_uncommitted"):
            name = f"final-{isolation}"
            self.isolation[name] = isolation
            self.events.append(Client(t=self.tick(), p=name, isolation=isolation))
            self.assign(name)
            while self.take(name, limit=20):
                pass
            for partition in PARTITIONS:
                end = len(self.broker.records[partition])
                self.events.append(
                    Final(
                        t=self.tick(),
                        p=name,
                        partition=partition,
                        isolation=isolation,
                        start=0,
                        end=end,
                        position=end,
                    )
                )


HEADER = Header(workload="made up", at_least_once_groups=[GROUP])
