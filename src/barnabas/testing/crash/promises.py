"""What the broker has promised: every answer without an error, and every question whose answer never came.

A question without an answer may have been acted on or not, until the same question is asked again and answered. So a
fact is a list of values that may be found, the last acknowledged first.
"""

from dataclasses import dataclass, field

from barnabas.testing.crash.transactions import Book

Key = bytes | None
Value = bytes | None


@dataclass
class Fact:
    """A value that is replaced: a config, a committed offset, whether a topic exists."""

    known: str
    """What was acknowledged last."""
    asked: list[str] = field(default_factory=list)
    """Asked for since, and not answered."""
    history: list[str] = field(default_factory=list)
    """What it ever was: an unsynced change may be undone by a power cut."""

    def ask(self, value: str) -> None:
        if value not in self.asked:
            self.asked.append(value)

    def answered(self, value: str) -> None:
        self.history.append(self.known)
        self.known = value
        self.asked.clear()

    def settle(self, found: str) -> None:
        """Whatever it is by now, it must stay so."""
        self.history.append(self.known)
        self.known = found

    def may_be(self, *, lossy: bool) -> set[str]:
        return {self.known, *self.asked, *(self.history if lossy else ())}


@dataclass
class Sent:
    """The records of one partition, in order; each batch is acknowledged before the next is sent."""

    synced: bool
    """Acknowledged means synced: not even a power cut takes it."""
    compacted: bool = False
    trimmed: bool = False
    """Records go at its front, by retention or because somebody deletes them."""
    acknowledged: list[tuple[Key, Value]] = field(default_factory=list)
    asked: list[tuple[Key, Value]] = field(default_factory=list)
    start_offset: int = 0
    """Deleted up to here, acknowledged."""
    sequence: int = 0

    def answered(self) -> None:
        self.acknowledged += self.asked
        self.sequence += len(self.asked)
        self.asked = []

    def forget_from(self, count: int) -> None:
        """A power cut took what nobody had synced."""
        self.acknowledged = self.acknowledged[:count]
        self.asked = []


@dataclass
class Promises:
    topics: dict[str, Fact] = field(default_factory=dict)
    """Whether they exist: "yes" or "no"."""
    configs: dict[tuple[str, str], Fact] = field(default_factory=dict)
    commits: dict[str, Fact] = field(default_factory=dict)
    """Committed offset by group."""
    records: dict[str, Sent] = field(default_factory=dict)
    transactions: Book = field(default_factory=Book)
    producer_ids: list[int] = field(default_factory=list)
    """Each was given out once."""
    member: tuple[str, int] | None = None
    """Member id and generation of the one member of the group that has members."""
