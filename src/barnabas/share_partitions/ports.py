"""Interfaces that a share-partition depends on."""

from typing import Protocol

from barnabas.model.share import SharePartitionKey, StateRead, StateWrite


class StatePersister(Protocol):
    """Raises KafkaError if the state was not stored, or may not have been."""

    async def read(self, key: SharePartitionKey, *, leader_epoch: int) -> StateRead: ...

    async def write(self, key: SharePartitionKey, write: StateWrite) -> None: ...


class ShareWatcher(Protocol):
    """A waiting ShareFetch."""

    def wake(self) -> None:
        """There may be records now: check again."""
