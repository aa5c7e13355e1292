"""What a task has written, and what a driver decides: values that go through commit messages and decision records."""

from typing import NamedTuple

from barnabas.client.producer_identity import ProducerIdentity


class WrittenRange(NamedTuple):
    """The offsets of a task's records in a partition. Records of others may be between them."""

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    record_count: int


class TaskEntry(NamedTuple):
    """An open transaction with all that was written in it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    commit_epoch: int
    """Of the marker that commits it: with transaction.version 2 the end of a transaction has the next epoch."""
    ranges: tuple[WrittenRange, ...]

    @property
    def producer(self) -> ProducerIdentity:
        return ProducerIdentity(self.producer_id, self.producer_epoch, self.transactional_id)


class Decision(NamedTuple):
    """From the moment this is durable, batch `batch_id` consists of these records, whatever happens to their tasks."""

    batch_id: int
    entries: tuple[TaskEntry, ...]


class LastDecision(NamedTuple):
    """The last one of a query, as it was found."""

    batch_id: int
    offset: int
    """Of its first record in the topic of decisions."""
    is_done: bool
    """Everything in it is visible, and parts of it are copies: it must not be rolled forward again."""
