"""What the broker has acknowledged, and the requests that got no answer.

An unanswered request may have been handled or not, until it is retried and answered. So a fact is a list of possible
values, beginning with the last acknowledged one.
"""

from dataclasses import dataclass, field

from barnabas.testing.crash.transactions import TransactionLedger

Key = bytes | None
Value = bytes | None


@dataclass
class Fact:
    """A value that can change: a config, a committed offset, whether a topic exists."""

    known: str
    """The last acknowledged value."""
    asked: list[str] = field(default_factory=list)
    """Requested since then, and not answered."""
    history: list[str] = field(default_factory=list)
    """All earlier values: a power cut may undo unsynced changes."""

    def ask(self, value: str) -> None:
        if value not in self.asked:
            self.asked.append(value)

    def answered(self, value: str) -> None:
        self.history.append(self.known)
        self.known = value
        self.asked.clear()

    def settle(self, found: str) -> None:
        """The value that was found is the acknowledged one from now on."""
        self.history.append(self.known)
        self.known = found

    def may_be(self, *, lossy: bool) -> set[str]:
        return {self.known, *self.asked, *(self.history if lossy else ())}


@dataclass
class Sent:
    """The records of one partition, in order; each batch is acknowledged before the next is sent."""

    synced: bool
    """Acknowledged records are synced, and survive a power cut."""
    compacted: bool = False
    trimmed: bool = False
    """Records are deleted at the beginning, by retention or DeleteRecords."""
    acknowledged: list[tuple[Key, Value]] = field(default_factory=list)
    asked: list[tuple[Key, Value]] = field(default_factory=list)
    start_offset: int = 0
    """Acknowledged deletions up to this offset."""
    sequence: int = 0

    def answered(self) -> None:
        self.acknowledged += self.asked
        self.sequence += len(self.asked)
        self.asked = []

    def forget_from(self, count: int) -> None:
        """A power cut lost the unsynced records."""
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
    transactions: TransactionLedger = field(default_factory=TransactionLedger)
    producer_ids: list[int] = field(default_factory=list)
    """All ids given out; each must be unique."""
    member: tuple[str, int] | None = None
    """Member id and generation of the only group member."""
