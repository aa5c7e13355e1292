"""Decides which records of a batch survive compaction, and builds the batch with the remaining ones.

A record is kept if no later record in the dirty section has its key. For a tombstone that is kept, the batch header
gets a delete horizon, `delete.retention.ms` after the first compaction, and a later compaction drops the tombstone
after that time. By then all older records with that key are gone, because the compaction that set the horizon removed
them.

Batches keep their base and last offset, codec, producer and sequence. A batch without remaining records is dropped,
except for the header of these two:
- the newest batch of its producer, whose sequence number is needed to detect retries after a restart (of a producer
  without records, the marker with its epoch);
- the last batch of its segment, which shows where the segment ends.

Records of aborted transactions are dropped at once. A marker whose transaction has no records left gets a delete
horizon like a tombstone (`compaction_transactions.py`). Other control batches do not change.
"""

from collections.abc import Mapping, Sequence

from barnabas.log.compaction_map import LatestOffsets
from barnabas.log.compaction_transactions import TransactionTracker
from barnabas.log.timestamp_lookup import DECODED_BYTES_MAX
from barnabas.records.batch import (
    CODEC_MASK,
    DELETE_HORIZON_FLAG,
    NO_TIMESTAMP,
    Batch,
    BatchHeader,
    Buffer,
)
from barnabas.records.record import Record, build_batch, decode_records, seal


class BatchFilter:
    def __init__(
        self,
        latest: LatestOffsets,
        *,
        end_offset: int,
        last_offsets: Mapping[int, int],
        marker_epochs: Mapping[int, int],
        transactions: TransactionTracker,
        now_ms: int,
        delete_retention_ms: int,
    ) -> None:
        self._latest = latest
        self._end_offset = end_offset
        self._last_offsets = last_offsets
        self._marker_epochs = marker_epochs
        self.transactions = transactions
        self._now_ms = now_ms
        self._delete_retention_ms = delete_retention_ms
        self.records_read = 0
        self.records_kept = 0

    def apply(self, batch: Batch, *, is_last: bool) -> Buffer | None:
        """The batch's own bytes if it is unchanged, new ones if it changes, None if it is dropped."""
        header = batch.header
        self.records_read += header.record_count
        if header.is_control:
            return self._apply_to_control(batch, is_last)
        if self.transactions.is_aborted(header):
            return self._without_records(batch, is_last)
        if header.base_offset >= self._end_offset:
            self.records_kept += header.record_count
            return batch.data
        records = decode_records(batch, max_bytes=DECODED_BYTES_MAX)
        keep_tombstones = not header.has_delete_horizon or self._now_ms < header.base_timestamp
        kept = [record for record in records if self._stays(record, keep_tombstones)]
        if not kept:
            return self._without_records(batch, is_last)
        self.records_kept += len(kept)
        horizon_ms = header.base_timestamp if header.has_delete_horizon else None
        if horizon_ms is None and any(record.value is None for record in kept):
            horizon_ms = self._now_ms + self._delete_retention_ms
        elif len(kept) == len(records):
            return batch.data
        return _rebuilt(header, kept, horizon_ms)

    def _apply_to_control(self, batch: Batch, is_last: bool) -> Buffer | None:
        header = batch.header
        if not self.transactions.is_obsolete_marker(batch):
            self.records_kept += header.record_count
            return batch.data
        if header.has_delete_horizon:
            if self._now_ms >= header.base_timestamp:
                return self._without_records(batch, is_last)
        elif header.record_count == 0:
            return self._without_records(batch, is_last)
        self.records_kept += header.record_count
        if header.has_delete_horizon:
            return batch.data
        records = decode_records(batch, max_bytes=DECODED_BYTES_MAX)
        return _rebuilt(header, records, self._now_ms + self._delete_retention_ms)

    def _without_records(self, batch: Batch, is_last: bool) -> Buffer | None:
        header = batch.header
        if not (is_last or self._is_newest_of_producer(header)):
            return None
        return batch.data if header.record_count == 0 else _emptied(header)

    def _stays(self, record: Record, keep_tombstones: bool) -> bool:
        return (
            record.key is not None
            and (record.value is not None or keep_tombstones)
            and record.offset >= self._latest.of(record.key)
        )

    def _is_newest_of_producer(self, header: BatchHeader) -> bool:
        if header.is_control:
            return self._marker_epochs.get(header.producer_id) == header.producer_epoch
        return header.has_producer_id and self._last_offsets.get(header.producer_id) == header.last_offset


def _rebuilt(header: BatchHeader, records: Sequence[Record], delete_horizon_ms: int | None) -> bytes:
    return build_batch(
        records,
        base_offset=header.base_offset,
        codec=header.codec,
        log_append_time=header.max_timestamp if header.is_log_append_time else None,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        leader_epoch=header.leader_epoch,
        transactional=header.is_transactional,
        control=header.is_control,
        delete_horizon_ms=delete_horizon_ms,
        keep_offsets=True,
        last_offset=header.last_offset,
    )


def _emptied(header: BatchHeader) -> bytes:
    return seal(
        header._replace(
            attributes=header.attributes & ~(CODEC_MASK | DELETE_HORIZON_FLAG),
            base_timestamp=NO_TIMESTAMP,
            record_count=0,
        ),
        b"",
    )
