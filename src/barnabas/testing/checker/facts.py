"""Indexes the events of a history in one pass, for fast analyses."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from barnabas.testing.checker.events import (
    OFFSET_UNKNOWN,
    Ack,
    AnyEvent,
    Begin,
    Client,
    Committing,
    End,
    Fail,
    Fenced,
    Final,
    Header,
    Isolation,
    Outcome,
    Poll,
    Send,
)
from barnabas.testing.checker.history import BadHistory

Fate = Literal["there", "absent", "unknown"]


@dataclass(slots=True)
class Written:
    """One value, recorded before it was sent."""

    value: str
    partition: str
    process: str
    txn: str
    t: float
    source: str
    acked_offset: int | None = None
    """None: not acknowledged; -1: acknowledged at an unknown offset."""
    refused: str = ""


@dataclass(slots=True)
class Transaction:
    txn: str
    process: str
    transactional_id: str
    begun_t: float
    committing_t: float | None = None
    end_t: float | None = None
    reported_outcome: Outcome | None = None
    values: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> Outcome:
        """A commit that was not requested cannot have happened; a requested one may have."""
        if self.reported_outcome in ("commit", "abort"):
            return self.reported_outcome
        return "abort" if self.committing_t is None else "unknown"


class Seen(NamedTuple):
    """A value at an offset, and the process that got it."""

    value: str
    process: str
    t: float


@dataclass
class Log:
    """What is known of one partition."""

    partition: str
    by_offset: dict[int, Seen] = field(default_factory=dict)
    """The value read, or else acknowledged, at each offset."""
    conflicts: list[tuple[int, Seen, Seen]] = field(default_factory=list)
    read: dict[Isolation, dict[int, Seen]] = field(
        default_factory=lambda: {"read_committed": {}, "read_uncommitted": {}}
    )
    """By isolation: the value at each offset, and the process that read it first."""
    final: dict[Isolation, Final] = field(default_factory=dict)
    final_read: dict[Isolation, set[str]] = field(default_factory=dict)
    """The values read at the end of the run."""

    def note(self, offset: int, seen: Seen) -> None:
        before = self.by_offset.setdefault(offset, seen)
        if before.value != seen.value:
            self.conflicts.append((offset, before, seen))

    def offset_max(self) -> int:
        """The highest offset that was read."""
        return max((max(read, default=-1) for read in self.read.values()), default=-1)


class Facts:
    def __init__(self, header: Header, events: Sequence[AnyEvent]) -> None:
        self.header = header
        self.events = events
        self.written: dict[str, Written] = {}
        """By value, in the order in which they were sent."""
        self.acked_unsent: list[tuple[Ack, str, int]] = []
        self.transactions: dict[str, Transaction] = {}
        self.logs: dict[str, Log] = {}
        self.offsets_read: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        """value: partition: the different offsets at which it was read"""
        self.isolation: dict[str, Isolation] = {}
        self.clients: dict[str, Client] = {}
        self.fenced: dict[str, float] = {}
        final_processes = {event.p for event in events if isinstance(event, Final)}
        for event in events:
            match event:
                case Poll():
                    self._note_poll(event, is_final=event.p in final_processes)
                case Send():
                    self._note_send(event)
                case Ack():
                    self._note_ack(event)
                case Fail():
                    if event.definite and event.value in self.written:
                        self.written[event.value].refused = event.error or "refused"
                case Client():
                    self.isolation[event.p] = event.isolation
                    self.clients[event.p] = event
                case Begin():
                    self.transactions[event.txn] = Transaction(event.txn, event.p, event.transactional_id, event.t)
                case Committing():
                    self._transaction(event.txn).committing_t = event.t
                case End():
                    transaction = self._transaction(event.txn)
                    transaction.reported_outcome, transaction.end_t = event.outcome, event.t
                case Fenced():
                    self.fenced[event.transactional_id] = event.t
                case Final():
                    self.log(event.partition).final[event.isolation] = event

    def log(self, partition: str) -> Log:
        log = self.logs.get(partition)
        if log is None:
            log = self.logs[partition] = Log(partition)
        return log

    def fate(self, written: Written) -> Fate:
        """Whether read_committed readers must get this value."""
        if written.refused:
            return "absent"
        if written.txn:
            outcome = self.transactions[written.txn].outcome
            return "there" if outcome == "commit" else "absent" if outcome == "abort" else "unknown"
        return "unknown" if written.acked_offset is None else "there"

    def place_of(self, written: Written) -> int:
        """The first known offset of the value, or -1."""
        read = self.offsets_read.get(written.value, {}).get(written.partition)
        if read:
            return min(read)
        return OFFSET_UNKNOWN if written.acked_offset is None else written.acked_offset

    def open_transactions(self) -> Iterator[Transaction]:
        """Transactions that are not known to have ended."""
        for transaction in self.transactions.values():
            fenced_t = self.fenced.get(transaction.transactional_id, -1.0)
            if transaction.reported_outcome not in ("commit", "abort") and fenced_t < transaction.begun_t:
                yield transaction

    def _transaction(self, txn: str) -> Transaction:
        if txn not in self.transactions:
            raise BadHistory(f"transaction {txn} does something before it begins")
        return self.transactions[txn]

    def _note_poll(self, poll: Poll, *, is_final: bool) -> None:
        isolation = self.isolation.get(poll.p, "read_committed")
        for partition, records in poll.records.items():
            log = self.log(partition)
            read = log.read[isolation]
            if is_final:
                log.final_read.setdefault(isolation, set()).update(value for _, value in records)
            for offset, value in records:
                before = read.get(offset)
                if before is not None and before.value == value:
                    continue  # read by another before
                seen = Seen(value, poll.p, poll.t)
                read.setdefault(offset, seen)
                log.note(offset, seen)
                places = self.offsets_read[value][partition]
                if offset not in places:
                    places.append(offset)

    def _note_send(self, send: Send) -> None:
        sources = send.sources or [""] * len(send.values)
        for value, source in zip(send.values, sources, strict=True):
            if value in self.written:
                raise BadHistory(f"{value} is sent twice, by {self.written[value].process} and by {send.p}")
            self.written[value] = Written(value, send.partition, send.p, send.txn, send.t, source)
            if send.txn:
                self._transaction(send.txn).values.append(value)

    def _note_ack(self, ack: Ack) -> None:
        log = self.log(ack.partition)
        for value, offset in ack.acks:
            written = self.written.get(value)
            if written is None or written.partition != ack.partition:
                self.acked_unsent.append((ack, value, offset))
                continue
            written.acked_offset = offset
            if offset != OFFSET_UNKNOWN:
                log.note(offset, Seen(value, ack.p, ack.t))
