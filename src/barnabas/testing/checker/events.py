"""What clients did and saw, event by event: the history that is checked.

Every client notes what it is about to do before it does it, and what came of it afterwards. So whatever happens to it
in between, the history never knows too little about what might have happened: a value that was sent and never
acknowledged may be in the log or not; a transaction that nobody ever asked to commit must not be.

A value is sent once and never again. That is what lets a checker tell a lost record from a late one and a repeated
record from a second one. A partition is written as `topic-0`.

Times are seconds of one monotonic clock: all clients of a run are on one machine.
"""

from typing import ClassVar, Literal, TypeAlias

import msgspec

Isolation = Literal["read_committed", "read_uncommitted"]
Outcome = Literal["commit", "abort", "unknown"]
OFFSET_UNKNOWN = -1


class Event(msgspec.Struct, tag_field="event", omit_defaults=True, kw_only=True):
    t: float
    p: str
    """The process. One that is started again gets another name: it remembers nothing."""


class Header(msgspec.Struct, tag_field="event", tag="history", kw_only=True):
    """The first line: what was run, and what may be expected of it."""

    workload: str
    seed: int = 0
    duplicates_allowed: bool = False
    """Plain producers repeat what was not answered, and a repeated record may be there twice."""
    moves: dict[str, str] = {}
    """source topic: target topic, of what is read, transformed and written exactly once"""
    bank_total: int = 0
    """What the accounts of each teller hold together, at any time."""
    at_least_once_groups: list[str] = []
    """Their members commit what they have processed: every record must have been polled by one of them."""
    format: int = 1


class Client(Event, tag="client"):
    """A process introduces itself."""

    isolation: Isolation = "read_committed"
    group: str = ""
    transactional_id: str = ""


class Send(Event, tag="send"):
    """About to send these, in this order."""

    partition: str
    values: list[str]
    txn: str = ""
    sources: list[str] = []
    """What each was made from, if it was."""


class Ack(Event, tag="ack"):
    partition: str
    acks: list[tuple[str, int]]
    """(value, offset); the offset of a repeated record may be unknown (-1)"""


class Fail(Event, tag="fail"):
    partition: str
    value: str
    error: str
    definite: bool = False
    """It was refused, and cannot be in the log. Otherwise nobody knows."""


class Poll(Event, tag="poll"):
    records: dict[str, list[tuple[int, str]]]
    """partition: [(offset, value), ...] in the order in which they came"""
    txn: str = ""


class Assign(Event, tag="assign"):
    """From here on it reads these partitions, from these offsets (-1: wherever the group or the reset puts it)."""

    positions: dict[str, int]


class Seek(Event, tag="seek"):
    partition: str
    offset: int


class Commit(Event, tag="commit"):
    """About to commit these offsets."""

    group: str
    offsets: dict[str, int]
    number: int
    txn: str = ""


class Committed(Event, tag="committed"):
    number: int
    error: str = ""


class Offsets(Event, tag="offsets"):
    """The committed offsets, as the broker told them when it was asked at `asked`."""

    group: str
    asked: float
    offsets: dict[str, int]


class Begin(Event, tag="begin"):
    txn: str
    transactional_id: str = ""


class Committing(Event, tag="committing"):
    """About to ask for the commit: from here on the transaction may be committed."""

    txn: str


class End(Event, tag="end"):
    txn: str
    outcome: Outcome
    error: str = ""


class Fenced(Event, tag="fenced"):
    """Whoever used this transactional id before can do so no more, and its transaction is over."""

    transactional_id: str


class Final(Event, tag="final"):
    """This process has read a partition, as far as it could, after everybody else had finished."""

    partition: str
    isolation: Isolation
    start: int
    end: int
    """The high watermark."""
    position: int
    """Where the reader came to. All is well if that is the end."""


class Fault(Event, tag="fault"):
    """What was done to whom: kill, pause, resume, start, stop."""

    action: str
    target: str


AnyEvent: TypeAlias = (
    Client
    | Send
    | Ack
    | Fail
    | Poll
    | Assign
    | Seek
    | Commit
    | Committed
    | Offsets
    | Begin
    | Committing
    | End
    | Fenced
    | Final
    | Fault
)


class Codec:
    """One event, one line."""

    encoder: ClassVar = msgspec.json.Encoder()
    event: ClassVar = msgspec.json.Decoder(AnyEvent)
    header: ClassVar = msgspec.json.Decoder(Header)
