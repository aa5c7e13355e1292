"""What a coordinator needs from below: the log of one of its topics, partition by partition."""

from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import NamedTuple, Protocol


class KeyValue(NamedTuple):
    """One record as the log stores it; a value of None is a tombstone."""

    key: bytes
    value: bytes | None


class LoggedRecord(Protocol):
    @property
    def key(self) -> bytes | None: ...

    @property
    def value(self) -> bytes | None: ...


class CoordinatorLog(Protocol):
    def append(self, partition: int, records: Sequence[KeyValue], now_ms: int) -> Awaitable[None] | None:
        """Write at once, as one batch; KafkaError if nothing was written.

        The awaitable is done when the records are committed and raises KafkaError if that is not to be;
        None: they are committed already. Appends to one partition are committed in their order.
        """

    def read_all(self, partition: int) -> AsyncIterator[Sequence[LoggedRecord]]:
        """Everything committed, in order, some records at a time."""
