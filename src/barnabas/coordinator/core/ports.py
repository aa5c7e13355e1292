"""Interfaces a coordinator depends on: the log of its internal topic, transaction markers, producer ids."""

from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Any, NamedTuple, Protocol

from barnabas.model import TopicPartition


class KeyValue(NamedTuple):
    """One record as the log stores it; a value of None is a tombstone."""

    key: bytes
    value: bytes | None


class TransactionalProducer(NamedTuple):
    """The producer whose transaction the records belong to."""

    producer_id: int
    producer_epoch: int
    guard: Any = None
    """The log's verification guard, if it asked for the transaction to be verified."""


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
    """Set if the batch is part of a transaction, or ends one."""
    commit: bool | None = None
    """Set if the batch ends a transaction: whether it commits it."""


class CoordinatorLog(Protocol):
    def append(
        self,
        partition: int,
        records: Sequence[KeyValue],
        now_ms: int,
        producer: TransactionalProducer | None = None,
    ) -> Awaitable[None] | None:
        """Write the records at once, as one batch. Raises KafkaError if nothing was written.

        The awaitable ends when the records are committed, or raises KafkaError if they will not be. None: they are
        committed already. Appends to one partition are committed in order.
        """

    def append_marker(self, partition: int, marker: EndMarker, now_ms: int) -> Awaitable[None] | None:
        """Like `append`. Called only for logs with transactional records."""

    def read_all(self, partition: int) -> AsyncIterator[LoggedBatch]:
        """Every committed batch, in order."""


class TransactionMarkers(Protocol):
    def write(self, partition: TopicPartition, marker: EndMarker) -> Awaitable[None] | None:
        """End a transaction in a partition, on whichever broker leads it. None: the marker is committed already.

        KafkaError, raised here or by the awaitable: the marker was not written, or may not have been. Writing it twice
        does no harm. A deleted partition needs no marker, and is not an error.
        """


class ProducerIds(Protocol):
    def take(self) -> int | None:
        """A new producer id; None if there is none left: call `refill`."""

    def refill(self) -> Awaitable[None]: ...
