"""What a producer does with a batch that somebody else has encoded: it signs it, and it splits it.

A batch comes whole (`barnabas.records`), from Arrow columns, from the plain encoder or out of another log. Its offset,
its leader epoch, its producer's fields and its CRC are the producer's to set.
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
    pack_place_into,
    read_batch,
    read_header,
)
from barnabas.records.record import build_batch, decode_records

_CRC: Final = Struct(">I")
_CRC_POSITION: Final = 17
_ATTRIBUTES: Final = Struct(">h")
_PRODUCER: Final = Struct(">qhi")
_PRODUCER_POSITION: Final = 43  # producer id, epoch and sequence

# Of what one batch decompresses to when it has to be split: what brokers of ours take at most, and a bound is needed.
_SPLIT_BYTES_MAX: Final = 1 << 30


def sign(
    batch: memoryview,
    *,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
) -> BatchHeader:
    """Make a batch this producer's, where it lies. Everything that the log will say anew is taken back."""
    header = read_header(batch)
    attributes = header.codec | (TRANSACTIONAL_FLAG if transactional else 0)
    _ATTRIBUTES.pack_into(batch, ATTRIBUTES_POSITION, attributes)
    _PRODUCER.pack_into(batch, _PRODUCER_POSITION, producer_id, producer_epoch, base_sequence)
    pack_place_into(batch, 0, 0, len(batch) - LOG_OVERHEAD, NO_LEADER_EPOCH)
    _CRC.pack_into(batch, _CRC_POSITION, iscsi(batch[ATTRIBUTES_POSITION:]))
    return read_header(batch)


def split(batch: memoryview) -> list[memoryview]:
    """Two batches with half of the records each, for a topic that takes no batch of this size. Not signed."""
    whole = read_batch(batch)
    records = decode_records(whole, max_bytes=_SPLIT_BYTES_MAX)
    middle = len(records) // 2
    codec = whole.header.codec
    halves = (records[:middle], records[middle:])
    return [memoryview(bytearray(build_batch(half, codec=codec))) for half in halves]
