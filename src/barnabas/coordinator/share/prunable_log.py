"""The state topic's log, with the records at its start deleted once they are redundant.

A share-partition needs its last snapshot and the updates after it. So everything before the oldest of the last
snapshots is redundant, and is deleted as by DeleteRecords. The topic is not compacted: that would keep only the last
update.
"""

from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Protocol, cast

from barnabas.coordinator.core.ports import (
    CoordinatorLog,
    EndMarker,
    KeyValue,
    LoggedBatch,
    LoggedRecord,
    TransactionalProducer,
)
from barnabas.coordinator.share.stored import SHARE_SNAPSHOT


class PositionedRecord(LoggedRecord, Protocol):
    @property
    def offset(self) -> int: ...


class StateTopicLog(CoordinatorLog, Protocol):
    """A log whose records, when read, have their offsets."""

    def end_offset(self, partition: int) -> int:
        """The offset of the next record."""

    async def delete_before(self, partition: int, offset: int) -> None: ...


class PrunableLog:
    def __init__(self, log: StateTopicLog) -> None:
        self._log = log
        self._snapshots: dict[int, dict[bytes, int]] = {}
        """By partition and key: the offset of the last snapshot."""
        self._pruned: dict[int, int] = {}

    def append(
        self,
        partition: int,
        records: Sequence[KeyValue],
        now_ms: int,
        producer: TransactionalProducer | None = None,
    ) -> Awaitable[None] | None:
        offset = self._log.end_offset(partition)
        committed = self._log.append(partition, records, now_ms, producer)
        for position, (key, value) in enumerate(records, offset):
            self._note(partition, key, value, position)
        return committed

    def append_marker(self, partition: int, marker: EndMarker, now_ms: int) -> Awaitable[None] | None:
        return self._log.append_marker(partition, marker, now_ms)

    async def read_all(self, partition: int) -> AsyncIterator[LoggedBatch]:
        self.forget(partition)
        async for batch in self._log.read_all(partition):
            for record in cast(Sequence[PositionedRecord], batch.records):
                if record.key is not None:
                    self._note(partition, record.key, record.value, record.offset)
            yield batch

    def _note(self, partition: int, key: bytes, value: bytes | None, offset: int) -> None:
        if int.from_bytes(key[:2], "big") != SHARE_SNAPSHOT:
            return
        snapshots = self._snapshots.setdefault(partition, {})
        if value is None:
            snapshots.pop(key, None)
        else:
            snapshots[key] = offset

    def forget(self, partition: int) -> None:
        self._snapshots.pop(partition, None)
        self._pruned.pop(partition, None)

    async def prune(self, partition: int) -> None:
        snapshots = self._snapshots.get(partition)
        if not snapshots:
            return
        redundant = min(snapshots.values())
        if redundant > self._pruned.get(partition, 0):
            await self._log.delete_before(partition, redundant)
            self._pruned[partition] = redundant
