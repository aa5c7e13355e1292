"""The events of a history: what clients did and saw.

Every client records what it is about to do before it does it, and the result afterwards. So even if it is killed in
between, the history covers everything that may have happened: a value that was sent and not acknowledged may be in the
log or not; a transaction whose commit was never requested must not be committed.

A value is sent only once, so that the checker can tell lost records from late ones, and duplicates from new records. A
partition is written as `topic-0`.

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
    """The process. A restarted one gets another name, because it has no memory."""


class Header(msgspec.Struct, tag_field="event", tag="history", kw_only=True):
    """The first line: what was run, and what is expected of it."""

    workload: str
    seed: int = 0
    duplicates_allowed: bool = False
    """Producers without idempotence retry, so a record may be written twice."""
    moves: dict[str, str] = {}
    """source topic: target topic, for exactly-once processing"""
    bank_total: int = 0
    """The constant total of each teller's accounts."""
    at_least_once_groups: list[str] = []
    """Groups that commit after processing: every record must have been polled by one of their members."""
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
    """The source value of each, if there is one."""


class Ack(Event, tag="ack"):
    partition: str
    acks: list[tuple[str, int]]
    """(value, offset); the offset of a repeated record may be unknown (-1)"""


class Fail(Event, tag="fail"):
    partition: str
    value: str
    error: str
    definite: bool = False
    """It was refused, and cannot be in the log. If False, it may be."""


class Poll(Event, tag="poll"):
    records: dict[str, list[tuple[int, str]]]
    """partition: [(offset, value), ...] in the order received"""
    txn: str = ""


class Assign(Event, tag="assign"):
    """It reads these partitions from now on, from these offsets (-1: from the committed offset or the reset)."""

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
    """The committed offsets that the broker returned to a request sent at `asked`."""

    group: str
    asked: float
    offsets: dict[str, int]


class Begin(Event, tag="begin"):
    txn: str
    transactional_id: str = ""


class Committing(Event, tag="committing"):
    """About to request the commit: from now on the transaction may be committed."""

    txn: str


class End(Event, tag="end"):
    txn: str
    outcome: Outcome
    error: str = ""


class Fenced(Event, tag="fenced"):
    """Earlier producers with this transactional id are fenced, and their transaction has ended."""

    transactional_id: str


class Final(Event, tag="final"):
    """This process has read a partition as far as possible, after all others had finished."""

    partition: str
    isolation: Isolation
    start: int
    end: int
    """The high watermark."""
    position: int
    """The position of the reader: the end, unless it is stuck."""


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
