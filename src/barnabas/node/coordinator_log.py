"""A coordinator's log port over the partitions of its internal topic."""

from collections.abc import AsyncIterator, Awaitable, Sequence

from barnabas.coordinator.ports import KeyValue
from barnabas.env import Workers
from barnabas.records.batch import read_batch, split_batches
from barnabas.records.record import Record, build_batch, decode_records
from barnabas.replication.replicas import Replicas

# Small enough that decoding one read does not hold the loop for long: some 2 us a record.
READ_BYTES = 256 * 1024
# Only brokers write here, and Kafka may have been one of them: far more than either puts into a batch.
DECOMPRESSED_BYTES_MAX = 256 * 1024 * 1024


class TopicCoordinatorLog:
    def __init__(self, topic: str, replicas: Replicas, workers: Workers) -> None:
        self._topic = topic
        self._replicas = replicas
        self._workers = workers

    def append(self, partition: int, records: Sequence[KeyValue], now_ms: int) -> Awaitable[None] | None:
        target = self._replicas.get(self._topic, partition)
        batch = build_batch([Record(timestamp=now_ms, key=key, value=value) for key, value in records])
        appended = target.append([read_batch(batch)], now_ms=now_ms)
        if target.is_committed(appended.last_offset):
            return None
        return target.wait_committed(appended.last_offset)

    async def read_all(self, partition: int) -> AsyncIterator[Sequence[Record]]:
        source = self._replicas.get(self._topic, partition)
        offset = source.log.log_start_offset
        while True:
            log = source.log
            located = log.locate(max(offset, log.log_start_offset), max_bytes=READ_BYTES, end_offset=log.high_watermark)
            if located is None:
                return
            data = await self._workers.run(located.read)
            for batch in split_batches(data):
                offset = batch.header.next_offset
                if not batch.header.is_control:
                    yield decode_records(batch, max_bytes=DECOMPRESSED_BYTES_MAX)
