"""Reads the batches of the log, or of a leader's answer, as the core wants to see them."""

from collections.abc import Iterator

from barnabas.raft.core.control_records import (
    ControlMessage,
    KRaftVersionRecord,
    LeaderChangeMessage,
    VotersRecord,
    read_control,
)
from barnabas.raft.core.log_view import LogBatch
from barnabas.raft.core.snapshot_file import DECOMPRESSED_BYTES_MAX
from barnabas.records.batch import Batch, Buffer, crc_is_valid, split_batches
from barnabas.records.control import ControlType, decode_control_key
from barnabas.records.record import Record, decode_records
from barnabas.wire.errors import CorruptMessage


def fetched_batches(records: Buffer) -> Iterator[LogBatch]:
    """Of a leader's answer; the last one may be cut off, and is left out."""
    for batch in split_batches(records):
        if not crc_is_valid(batch):
            raise CorruptMessage(f"the CRC of the batch at offset {batch.header.base_offset} is wrong")
        yield log_batch(batch)


def log_batch(batch: Batch) -> LogBatch:
    header = batch.header
    controls: tuple[ControlMessage | None, ...] = ()
    if header.is_control:
        controls = tuple(map(_message, decode_records(batch, max_bytes=DECOMPRESSED_BYTES_MAX)))
    return LogBatch(header.base_offset, header.next_offset, header.leader_epoch, bytes(batch.data), controls)


def _message(record: Record) -> ControlMessage | None:
    match decode_control_key(record.key):
        case ControlType.LEADER_CHANGE:
            return read_control(LeaderChangeMessage, record)
        case ControlType.KRAFT_VERSION:
            return read_control(KRaftVersionRecord, record)
        case ControlType.KRAFT_VOTERS:
            return read_control(VotersRecord, record)
        case _:
            return None
