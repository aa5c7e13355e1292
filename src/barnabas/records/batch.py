"""Record batches as opaque bytes: the 61-byte header is read in one step, the records after it are not touched.

A batch (Kafka's format v2, the only one) is

    base_offset i64 | batch_length i32 | leader_epoch i32 | magic i8 | crc u32 | attributes i16 | last_offset_delta i32
    | base_timestamp i64 | max_timestamp i64 | producer_id i64 | producer_epoch i16 | base_sequence i32
    | record_count i32 | records, compressed as a whole

`batch_length` counts the bytes after it. The CRC32C covers everything from `attributes` on, so a leader can write
offset and epoch into a batch without touching the rest: produced bytes go to disk, and from disk to the consumer,
unchanged.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from fastcrc.crc32 import iscsi

from barnabas.wire.errors import CorruptMessage

Buffer = bytes | bytearray | memoryview

MAGIC = 2
HEADER_SIZE = 61
LOG_OVERHEAD = 12  # base_offset and batch_length, which batch_length does not count
MAGIC_POSITION = 16
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21  # the CRC covers the bytes from here on

CODEC_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1

HEADER_STRUCT = Struct(">qiibIhiqqqhii")
_OFFSET_AND_EPOCH_STRUCT = Struct(">qii")
pack_offset_and_epoch_into = _OFFSET_AND_EPOCH_STRUCT.pack_into
"""Writes a batch's offset and epoch in place: (batch, 0, base_offset, batch_length, leader_epoch)."""


class BatchHeader(NamedTuple):
    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        """The number in the header; it may not be a valid `compression.Codec`."""
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME_FLAG != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_FLAG != 0

    @property
    def has_delete_horizon(self) -> bool:
        """If so, `base_timestamp` is the time at which the cleaner may drop the batch's tombstones."""
        return self.attributes & DELETE_HORIZON_FLAG != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """Sequences count from 0 to 2^31-1 and wrap to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


class Batch(NamedTuple):
    header: BatchHeader
    data: memoryview  # exactly the batch's bytes, header included


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    if position < 0 or len(buffer) - position < HEADER_SIZE:
        raise CorruptMessage(f"a batch header needs {HEADER_SIZE} bytes, but there are {len(buffer) - position}")
    return BatchHeader._make(HEADER_STRUCT.unpack_from(buffer, position))


def read_batch(buffer: Buffer) -> Batch:
    """The batch that fills `buffer` exactly."""
    batches = list(split_batches(buffer))
    if len(batches) != 1 or len(batches[0].data) != len(buffer):
        raise CorruptMessage(f"{len(buffer)} bytes are not exactly one batch")
    return batches[0]


def split_batches(buffer: Buffer) -> Iterator[Batch]:
    """All complete batches in order. A partial last one is left out: fetches and torn writes end in one."""
    view = memoryview(buffer)
    end = len(view)
    position = 0
    while end - position >= HEADER_SIZE:
        header = read_header(view, position)
        if header.magic != MAGIC:
            raise CorruptMessage(f"batch at byte {position} has magic {header.magic}, only {MAGIC} is supported")
        if header.batch_length < HEADER_SIZE - LOG_OVERHEAD:
            raise CorruptMessage(f"batch at byte {position} has length {header.batch_length}, less than its header")
        next_position = position + header.size
        if next_position > end:
            return
        yield Batch(header, view[position:next_position])
        position = next_position


def crc_of(data: Buffer) -> int:
    """CRC32C of everything after the batch's CRC field."""
    return iscsi(memoryview(data)[ATTRIBUTES_POSITION:])


def crc_is_valid(batch: Batch) -> bool:
    return crc_of(batch.data) == batch.header.crc


def with_offsets(batch: Batch, base_offset: int, leader_epoch: int) -> list[Buffer]:
    """The batch with its offset and epoch, as buffers for one vectored write; only 16 bytes are copied."""
    return [
        _OFFSET_AND_EPOCH_STRUCT.pack(base_offset, batch.header.batch_length, leader_epoch),
        batch.data[_OFFSET_AND_EPOCH_STRUCT.size :],
    ]
