"""The records inside a batch: decoding, for features that need it, and building batches that the broker writes itself.

A record is

    length varint | attributes i8 | timestamp_delta varlong | offset_delta varint | key_length varint | key
    | value_length varint | value | header_count varint | headers (key_length, key, value_length, value)

with deltas from the batch's base, and length -1 for null. Decoding trusts no number: every count and length is checked
against the remaining bytes before anything is allocated.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

from fastcrc.crc32 import iscsi

from barnabas.records.batch import (
    ATTRIBUTES_POSITION,
    CONTROL_FLAG,
    CRC_POSITION,
    DELETE_HORIZON_FLAG,
    HEADER_SIZE,
    HEADER_STRUCT,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    Batch,
    BatchHeader,
)
from barnabas.records.compression import Codec, compress, decompress
from barnabas.records.innermost import plain_records
from barnabas.records.structure import RECORD_SIZE_MIN
from barnabas.records.varint import VARLONG_BITS, read_varint, varint
from barnabas.wire.errors import InvalidRecord

_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1

_CRC_STRUCT: Final = Struct(">I")
_NULL: Final = varint(-1)
"""The encoded length of null."""


class Header(NamedTuple):
    key: str  # bytes that are not UTF-8 are kept as lone surrogates (`surrogateescape`), and written back unchanged
    value: bytes | None


class Record(NamedTuple):
    offset: int = 0
    timestamp: int = NO_TIMESTAMP
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[Header, ...] = ()


def decode_records(batch: Batch, *, max_bytes: int) -> list[Record]:
    """All records of a batch; `max_bytes` bounds their decompressed size."""
    return decode_body(batch.header, decompressed_body(batch, max_bytes=max_bytes))


def decompressed_body(batch: Batch, *, max_bytes: int) -> bytes:
    body = batch.data[HEADER_SIZE:]
    if batch.header.codec == Codec.NONE:  # already in memory: there is nothing left to bound
        return bytes(body)
    return decompress(batch.header.codec, body, max_bytes=max_bytes)


def decode_body(header: BatchHeader, body: bytes) -> list[Record]:
    """`body` is what follows the header, decompressed."""
    count = header.record_count
    if not 0 <= count * RECORD_SIZE_MIN <= len(body):
        raise InvalidRecord(f"the batch claims {count} records in {len(body)} bytes")
    base_timestamp = header.base_timestamp
    append_time = header.max_timestamp if header.is_log_append_time else None
    records: list[Record] = []
    last_delta = -1
    position = 0
    try:
        for _ in range(count):
            length, position = read_varint(body, position)
            end = position + length
            if length < 0 or end > len(body):
                raise InvalidRecord(f"a record claims {length} bytes, but {len(body) - position} are left")
            # The attributes byte is unused so far.
            timestamp_delta, position = read_varint(body, position + 1, VARLONG_BITS)
            offset_delta, position = read_varint(body, position)
            key, position = _read_bytes(body, position, end)
            value, position = _read_bytes(body, position, end)
            headers, position = _read_headers(body, position, end)
            if position != end:
                raise InvalidRecord(f"a record's fields end {position - end} bytes from where its length says")
            if not last_delta < offset_delta <= header.last_offset_delta:
                raise InvalidRecord(
                    f"offset delta {offset_delta} must be above {last_delta} and at most {header.last_offset_delta}"
                )
            last_delta = offset_delta
            timestamp = base_timestamp + timestamp_delta if append_time is None else append_time
            if not _INT64_MIN <= timestamp <= _INT64_MAX:
                raise InvalidRecord(f"timestamp {timestamp} has more than 64 bits")
            records.append(Record(header.base_offset + offset_delta, timestamp, key, value, headers))
    except IndexError:
        raise InvalidRecord("the batch ends inside a record") from None
    if position != len(body):
        raise InvalidRecord(f"{len(body) - position} bytes follow the {count} records that the batch claims")
    return records


def _read_bytes(body: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = read_varint(body, position)
    if length == -1:
        return None, position
    if not 0 <= length <= end - position:
        raise InvalidRecord(f"a field claims {length} bytes, but {end - position} are left in its record")
    return body[position : position + length], position + length


def _read_headers(body: bytes, position: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, position = read_varint(body, position)
    if count == 0:
        return (), position
    if not 0 < count <= (end - position) // 2:  # a header is two lengths at least
        raise InvalidRecord(f"{count} headers in the {end - position} bytes left of a record")
    headers = []
    for _ in range(count):
        key, position = _read_bytes(body, position, end)
        if key is None:
            raise InvalidRecord("a header has no key")
        value, position = _read_bytes(body, position, end)
        headers.append(Header(key.decode("utf-8", "surrogateescape"), value))
    return tuple(headers), position


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    codec: int = Codec.NONE,
    level: int | None = None,
    log_append_time: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    leader_epoch: int = NO_LEADER_EPOCH,
    transactional: bool = False,
    control: bool = False,
    delete_horizon_ms: int | None = None,
    keep_offsets: bool = False,
    last_offset: int | None = None,
) -> bytes:
    """One batch of at least one record, whole and with its CRC.

    Records get offsets from `base_offset` on; with `keep_offsets` they keep their own (ascending) offsets.
    `last_offset` extends the batch beyond its last record, for when compaction has removed later ones.
    `log_append_time` is the timestamp of all records; without it each keeps its own.
    """
    if not records:
        raise ValueError("a batch has at least one record")
    attributes = (
        codec
        | (LOG_APPEND_TIME_FLAG if log_append_time is not None else 0)
        | (TRANSACTIONAL_FLAG if transactional else 0)
        | (CONTROL_FLAG if control else 0)
        | (DELETE_HORIZON_FLAG if delete_horizon_ms is not None else 0)
    )
    base_timestamp = records[0].timestamp if delete_horizon_ms is None else delete_horizon_ms
    max_timestamp = log_append_time
    if max_timestamp is None:
        max_timestamp = max(record.timestamp for record in records)

    body = bytearray()
    last_delta = -1
    for index, record in enumerate(records):
        offset_delta = record.offset - base_offset if keep_offsets else index
        if offset_delta <= last_delta:
            raise ValueError(f"offset {record.offset} does not ascend from {base_offset + last_delta}")
        last_delta = offset_delta
        _append_record(body, record, record.timestamp - base_timestamp, offset_delta)
    if last_offset is not None:
        last_delta = max(last_delta, last_offset - base_offset)

    compressed = compress(codec, body, level)
    return seal(
        BatchHeader(
            base_offset=base_offset,
            batch_length=0,
            leader_epoch=leader_epoch,
            magic=MAGIC,
            crc=0,
            attributes=attributes,
            last_offset_delta=last_delta,
            base_timestamp=base_timestamp,
            max_timestamp=max_timestamp,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            record_count=len(records),
        ),
        compressed,
    )


def build_plain_batch(
    pairs: Sequence[tuple[bytes, bytes | None]],
    timestamp_ms: int,
    *,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    transactional: bool = False,
) -> Batch:
    """As `build_batch`, for records with keys, one timestamp and no headers. Its bytes may be changed in place."""
    body = plain_records(pairs)
    count = len(pairs)
    attributes = TRANSACTIONAL_FLAG if transactional else 0
    size = HEADER_SIZE - LOG_OVERHEAD + len(body)
    after_crc = (attributes, count - 1, timestamp_ms, timestamp_ms, producer_id, producer_epoch, NO_SEQUENCE, count)
    data = memoryview(bytearray(HEADER_SIZE + len(body)))
    HEADER_STRUCT.pack_into(data, 0, 0, size, NO_LEADER_EPOCH, MAGIC, 0, *after_crc)
    data[HEADER_SIZE:] = body
    crc = iscsi(data[ATTRIBUTES_POSITION:])
    _CRC_STRUCT.pack_into(data, CRC_POSITION, crc)
    return Batch(BatchHeader(0, size, NO_LEADER_EPOCH, MAGIC, crc, *after_crc), data)


def seal(header: BatchHeader, body: bytes | memoryview) -> bytes:
    """Header and body (compressed, if `header` says so) as one batch, with its length and CRC set."""
    header = header._replace(batch_length=HEADER_SIZE - LOG_OVERHEAD + len(body))
    crc = iscsi(body, iscsi(HEADER_STRUCT.pack(*header)[ATTRIBUTES_POSITION:]))
    return b"".join((HEADER_STRUCT.pack(*header._replace(crc=crc)), body))


def _append_record(target: bytearray, record: Record, timestamp_delta: int, offset_delta: int) -> None:
    _, _, key, value, headers = record
    pieces = [
        b"\0",  # attributes
        varint(timestamp_delta),
        varint(offset_delta),
        _NULL if key is None else varint(len(key)),
        key or b"",
        _NULL if value is None else varint(len(value)),
        value or b"",
        varint(len(headers)),
    ]
    for name, content in headers:
        encoded = name.encode("utf-8", "surrogateescape")
        pieces += (varint(len(encoded)), encoded, _NULL if content is None else varint(len(content)), content or b"")
    body = b"".join(pieces)
    target += varint(len(body))
    target += body
