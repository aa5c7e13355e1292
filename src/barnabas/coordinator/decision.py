"""What a coordinator's core says to its shell: append these records, answer this, release those.

A core is pure: it is handed a request and the time, and returns a `Decision`. The shell (`runtime`) appends the
records, has them replayed, and lets the response out once they are committed. A response that has to wait for other
requests (a JoinGroup waits for the other members) is `Parked`: a token that a later decision releases.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from barnabas.coordinator.ports import EndMarker, TransactionalProducer
from barnabas.wire.errors import KafkaError

R = TypeVar("R")


class Now(NamedTuple):
    wall_ms: int
    """For what is stored: a restart must understand it."""
    monotonic_ms: int
    """For timeouts: a clock that is set forward must not expire everyone."""


class Parked(Generic[R]):
    """Stands for a response that is still to come. Two tokens are never equal."""

    __slots__ = ()


class Release(NamedTuple):
    parked: Parked[Any]
    outcome: Any
    """A response, or the KafkaError that takes its place."""


class InTransaction(NamedTuple):
    """A record of a producer's transaction, as it is replayed: it counts once the transaction is committed."""

    producer_id: int
    record: Any


class TransactionEnd(NamedTuple):
    """A transaction has ended, as it is replayed: its records count, or are forgotten."""

    producer_id: int
    commit: bool


@dataclass(slots=True, eq=False)
class Decision(Generic[R]):
    response: R | Parked[R] | KafkaError
    """Goes out, or is raised, when the records are committed; a parked one when a decision releases it."""

    records: list[Any] = field(default_factory=list)
    atomic: bool = True
    """Whether the records belong into one batch. Tombstones of a clean-up do not, and may be too many for one."""

    producer: TransactionalProducer | None = None
    """The records belong to this producer's transaction and are replayed as `InTransaction`."""

    marker: EndMarker | None = None
    """Instead of records: a transaction ends here, which is replayed as `TransactionEnd`."""

    sends: list[Any] = field(default_factory=list)
    """For the shell to act on once the records are committed."""

    releases: list[Release] = field(default_factory=list)
    """Parked responses that go out at once: they tell nothing that these records still have to make durable."""

    on_committed: Callable[[Now], "Decision[None]"] | None = None
    on_failed: Callable[[KafkaError, Now], "Decision[None]"] | None = None
    """What becomes of soft state that ran ahead of the log: it follows, or it is taken back."""

    def release(self, parked: Parked[Any] | None, outcome: object) -> None:
        if parked is not None:
            self.releases.append(Release(parked, outcome))
