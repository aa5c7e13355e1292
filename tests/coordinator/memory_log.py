"""A coordinator's log in memory: commits at once, when the test says so, or not at all."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Any

from barnabas.coordinator.core.ports import EndMarker, KeyValue, LoggedBatch, TransactionalProducer
from barnabas.wire.errors import KafkaError


class MemoryLog:
    def __init__(self) -> None:
        self.partitions: dict[int, list[Any]] = {}
        self.batches: list[int] = []
        """The number of records in each append."""
        self.hold = False
        self.held: list[asyncio.Future[None]] = []
        self.refuse: KafkaError | None = None
        self.reading: asyncio.Event | None = None
        """Set it to let reads continue."""

    def append(
        self,
        partition: int,
        records: Sequence[KeyValue],
        now_ms: int,
        producer: TransactionalProducer | None = None,
    ) -> Awaitable[None] | None:
        if self.refuse is not None:
            raise self.refuse
        log = self.partitions.setdefault(partition, [])
        if producer is None:
            log.extend(records)
        else:
            log.append(LoggedBatch(list(records), producer.producer_id))
        self.batches.append(len(records))
        return self._commit()

    def append_marker(self, partition: int, marker: EndMarker, now_ms: int) -> Awaitable[None] | None:
        if self.refuse is not None:
            raise self.refuse
        self.partitions.setdefault(partition, []).append(LoggedBatch((), marker.producer_id, marker.commit))
        return self._commit()

    def _commit(self) -> Awaitable[None] | None:
        if not self.hold:
            return None
        committed = asyncio.get_running_loop().create_future()
        self.held.append(committed)
        return self._committed(committed)

    async def _committed(self, committed: "asyncio.Future[None]") -> None:
        await committed

    def settle(self, error: Exception | None = None) -> None:
        held, self.held = self.held, []
        for committed in held:
            if error is None:
                committed.set_result(None)
            else:
                committed.set_exception(error)

    async def read_all(self, partition: int) -> AsyncIterator[LoggedBatch]:
        records = list(self.partitions.get(partition, []))
        for start in range(0, len(records), 2):
            if self.reading is not None:
                await self.reading.wait()
            for each in records[start : start + 2]:
                yield each if isinstance(each, LoggedBatch) else LoggedBatch([each])
        if self.reading is not None:
            await self.reading.wait()
