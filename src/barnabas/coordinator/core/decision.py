"""What a coordinator's core returns to its shell: records to append, a response, and parked responses to release.

A core is pure: it takes a request and the time, and returns a `Decision`. The shell (`runtime`) appends the records,
replays them, and sends the response once they are committed. A response that has to wait for other requests, as a
JoinGroup waits for the other members, is `Parked`: a token that a later decision releases.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from barnabas.coordinator.core.ports import EndMarker, TransactionalProducer
from barnabas.wire.errors import KafkaError

R = TypeVar("R")


class Now(NamedTuple):
    wall_ms: int
    """For what is stored: it must still be meaningful after a restart."""
    monotonic_ms: int
    """For timeouts: setting the clock forward must not expire every session."""


class Parked(Generic[R]):
    """A token for a response that will be sent later. No two tokens are equal."""

    __slots__ = ()


class Release(NamedTuple):
    parked: Parked[Any]
    outcome: Any
    """A response, or the KafkaError that takes its place."""


class InTransaction(NamedTuple):
    """A record of a producer's transaction, for replay. It takes effect when the transaction is committed."""

    producer_id: int
    record: Any


class TransactionEnd(NamedTuple):
    """The end of a transaction, for replay: its records take effect, or are dropped."""

    producer_id: int
    commit: bool


@dataclass(slots=True, eq=False)
class Decision(Generic[R]):
    response: R | Parked[R] | KafkaError
    """Sent, or raised, when the records are committed; a parked one when a later decision releases it."""

    records: list[Any] = field(default_factory=list)
    atomic: bool = True
    """Whether the records must be in one batch. Tombstones of a clean-up need not be, and may not fit into one."""

    producer: TransactionalProducer | None = None
    """The records belong to this producer's transaction and are replayed as `InTransaction`."""

    marker: EndMarker | None = None
    """Instead of records: a transaction ends here, which is replayed as `TransactionEnd`."""

    sends: list[Any] = field(default_factory=list)
    """Messages that the shell passes on once the records are committed."""

    releases: list[Release] = field(default_factory=list)
    """Parked responses that are sent at once, because they do not depend on these records."""

    on_committed: Callable[[Now], "Decision[None]"] | None = None
    on_failed: Callable[[KafkaError, Now], "Decision[None]"] | None = None
    """What to do with in-memory state that is ahead of the log: keep it, or take it back."""

    def release(self, parked: Parked[Any] | None, outcome: object) -> None:
        if parked is not None:
            self.releases.append(Release(parked, outcome))
