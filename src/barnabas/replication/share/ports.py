"""What a share-partition needs from elsewhere: somebody who remembers its state."""

from typing import Protocol

from barnabas.model.share import SharePartitionKey, StateRead, StateWrite


class StatePersister(Protocol):
    """KafkaError: it is not remembered, or not known to be."""

    async def read(self, key: SharePartitionKey, *, leader_epoch: int) -> StateRead: ...

    async def write(self, key: SharePartitionKey, write: StateWrite) -> None: ...


class ShareWatcher(Protocol):
    """A share fetch that waits."""

    def wake(self) -> None:
        """There may be records now: look again."""
