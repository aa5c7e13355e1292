"""What a producer does with an encoded batch: it sets the producer's fields and the CRC, and splits large ones.

Batches come from Arrow columns, from the plain encoder of `barnabas.records`, or from another log.
"""

from struct import Struct
from typing import Final

from fastcrc.crc32 import iscsi

from barnabas.records.batch import (
    ATTRIBUTES_POSITION,
    LOG_OVERHEAD,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    pack_offset_and_epoch_into,
    read_batch,
    read_header,
)
from barnabas.records.record import build_batch, decode_records

_CRC: Final = Struct(">I")
_CRC_POSITION: Final = 17
_ATTRIBUTES: Final = Struct(">h")
_PRODUCER: Final = Struct(">qhi")
_PRODUCER_POSITION: Final = 43  # producer id, epoch and sequence

# Bounds the decompressed size of a batch that has to be split; our brokers accept no more.
_SPLIT_BYTES_MAX: Final = 1 << 30


def sign(
    batch: memoryview,
    *,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
) -> BatchHeader:
    """Set the producer's fields in place, and reset the fields that the broker sets."""
    header = read_header(batch)
    attributes = header.codec | (TRANSACTIONAL_FLAG if transactional else 0)
    _ATTRIBUTES.pack_into(batch, ATTRIBUTES_POSITION, attributes)
    _PRODUCER.pack_into(batch, _PRODUCER_POSITION, producer_id, producer_epoch, base_sequence)
    pack_offset_and_epoch_into(batch, 0, 0, len(batch) - LOG_OVERHEAD, NO_LEADER_EPOCH)
    _CRC.pack_into(batch, _CRC_POSITION, iscsi(batch[ATTRIBUTES_POSITION:]))
    return read_header(batch)


def split(batch: memoryview) -> list[memoryview]:
    """Two batches with half of the records each, for a topic that refuses a batch of this size. Not signed yet."""
    whole = read_batch(batch)
    records = decode_records(whole, max_bytes=_SPLIT_BYTES_MAX)
    middle = len(records) // 2
    codec = whole.header.codec
    halves = (records[:middle], records[middle:])
    return [memoryview(bytearray(build_batch(half, codec=codec))) for half in halves]
