"""What a coordinator needs from below: the log of one of its topics, partition by partition; markers; producer ids."""

from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Any, NamedTuple, Protocol

from barnabas.model import TopicPartition


class KeyValue(NamedTuple):
    """One record as the log stores it; a value of None is a tombstone."""

    key: bytes
    value: bytes | None


class TransactionalProducer(NamedTuple):
    """Whose transaction records are written in."""

    producer_id: int
    producer_epoch: int
    guard: Any = None
    """What the log gave out when it asked for the transaction to be verified; None where it did not."""


class EndMarker(NamedTuple):
    """The end of a producer's transaction in one partition."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    commit: bool
    transaction_version: int


class LoggedRecord(Protocol):
    @property
    def key(self) -> bytes | None: ...

    @property
    def value(self) -> bytes | None: ...


class LoggedBatch(NamedTuple):
    records: Sequence[LoggedRecord]
    producer_id: int | None = None
    """Where the batch is part of a transaction, or ends one."""
    commit: bool | None = None
    """Where it ends a transaction: how."""


class CoordinatorLog(Protocol):
    def append(
        self,
        partition: int,
        records: Sequence[KeyValue],
        now_ms: int,
        producer: TransactionalProducer | None = None,
    ) -> Awaitable[None] | None:
        """Write at once, as one batch; KafkaError if nothing was written.

        The awaitable is done when the records are committed and raises KafkaError if that is not to be;
        None: they are committed already. Appends to one partition are committed in their order.
        """

    def append_marker(self, partition: int, marker: EndMarker, now_ms: int) -> Awaitable[None] | None:
        """As `append`. Only a log that has transactional records is asked for it."""

    def read_all(self, partition: int) -> AsyncIterator[LoggedBatch]:
        """Everything committed, in order, some records at a time."""


class TransactionMarkers(Protocol):
    def write(self, partition: TopicPartition, marker: EndMarker) -> Awaitable[None] | None:
        """End a transaction in a partition, wherever that is led. None: it is committed already.

        KafkaError, raised here or by the awaitable: it was not, or may not have been written. To write it twice does no
        harm. A partition that is no more needs no marker: that is no error.
        """


class ProducerIds(Protocol):
    def take(self) -> int | None:
        """A new producer id; None: `refill` first."""

    def refill(self) -> Awaitable[None]: ...
