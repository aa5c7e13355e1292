"""A coordinator's log: the partitions of its internal topic."""

import logging
from collections.abc import AsyncIterator, Awaitable, Sequence

from barnabas.coordinator.core.ports import EndMarker, KeyValue, LoggedBatch, TransactionalProducer
from barnabas.env import Workers
from barnabas.log.batch_finder import DamagedRecords
from barnabas.records.batch import Batch, split_batches
from barnabas.records.control import read_marker
from barnabas.records.record import build_plain_batch, decode_records
from barnabas.replication.partition import Partition
from barnabas.replication.replicas import Replicas

logger = logging.getLogger(__name__)

# Small enough that decoding it does not block the loop for long: about 2 us per record.
READ_BYTES = 256 * 1024
# Only brokers write here, Apache Kafka included: far more than any broker puts into a batch.
DECOMPRESSED_BYTES_MAX = 256 * 1024 * 1024


class TopicCoordinatorLog:
    def __init__(self, topic: str, replicas: Replicas, workers: Workers, *, skip_damage: bool = True) -> None:
        """`skip_damage`: the coordinator can do with what is older than a record that cannot be read."""
        self._skip_damage = skip_damage
        self._topic = topic
        self._replicas = replicas
        self._workers = workers

    def append(
        self,
        partition: int,
        records: Sequence[KeyValue],
        now_ms: int,
        producer: TransactionalProducer | None = None,
    ) -> Awaitable[None] | None:
        target = self._replicas.get(self._topic, partition)
        if producer is None:
            batch = build_plain_batch(records, now_ms)
            if target.append_in_place(batch.header, batch.data, now_ms) >= 0:
                return None
        else:
            batch = build_plain_batch(
                records,
                now_ms,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                transactional=True,
            )
        guard = None if producer is None else producer.guard
        appended = target.append([batch], now_ms=now_ms, guard=guard)
        return _committed(target, appended.last_offset)

    def append_marker(self, partition: int, marker: EndMarker, now_ms: int) -> Awaitable[None] | None:
        target = self._replicas.get(self._topic, partition)
        appended = target.append_marker(
            marker.producer_id,
            marker.producer_epoch,
            marker.coordinator_epoch,
            commit=marker.commit,
            now_ms=now_ms,
            transaction_version=marker.transaction_version,
        )
        return _committed(target, appended.last_offset)

    async def read_all(self, partition: int) -> AsyncIterator[LoggedBatch]:
        source = self._replicas.get(self._topic, partition)
        offset = source.log.log_start_offset
        while True:
            log = source.log
            try:
                located = log.locate(
                    max(offset, log.log_start_offset), max_bytes=READ_BYTES, end_offset=log.high_watermark
                )
                if located is None:
                    return
                data = await self._workers.run(located.read)
            except DamagedRecords as error:
                if not self._skip_damage:
                    raise
                logger.warning(
                    "%s-%d: %s. What was stored there is lost to the coordinator, which goes on with older state: "
                    "groups may get some records again",
                    self._topic,
                    partition,
                    error,
                )
                offset = log.segments.next_readable_offset(error.damage, log.log_end_offset)
                continue
            for batch in split_batches(data):
                offset = batch.header.next_offset
                yield _logged(batch)


def _committed(partition: Partition, last_offset: int) -> Awaitable[None] | None:
    return None if partition.is_committed(last_offset) else partition.wait_committed(last_offset)


def _logged(batch: Batch) -> LoggedBatch:
    header = batch.header
    if header.is_control:
        marker = read_marker(batch)
        return LoggedBatch((), header.producer_id, marker.commit) if marker is not None else LoggedBatch(())
    records = decode_records(batch, max_bytes=DECOMPRESSED_BYTES_MAX)
    return LoggedBatch(records, header.producer_id if header.is_transactional else None)
