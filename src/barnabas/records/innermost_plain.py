"""The functions of `_compiled.c` in Python, for machines where that was not built. Tests compare the two.

They accept everything that the compiled ones accept. They may accept more, because `check_records` does not look at
all fields of all records, which would take too long here.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

from barnabas.records.batch import (
    CODEC_MASK,
    HEADER_SIZE,
    HEADER_STRUCT,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    Buffer,
)
from barnabas.records.structure import RECORD_SIZE_MIN, check_records
from barnabas.records.varint import varint
from barnabas.wire.errors import InvalidRecord

T = TypeVar("T", bound=tuple[int, ...])

_CODEC_MAX = 4
OFFSET_MAX = 2**63 - 1
_new_tuple = tuple.__new__


def ordinary_header(
    kind: type[T], buffer: Buffer, start: int, end: int, latest_ms: int, records_max: int, /
) -> T | None:
    """The header, as a `kind`, of the ordinary batch that fills `buffer[start:end]`; None if it is not one.

    The CRC is not checked, and the records of a compressed batch are not.
    """
    if not 0 <= start <= end - HEADER_SIZE - 1 or end > len(buffer):
        return None
    fields = HEADER_STRUCT.unpack_from(buffer, start)
    base_offset, length, _, magic, _, attributes, last, first_ms, max_ms, producer, epoch, sequence, count = fields
    codec, flags = attributes & CODEC_MASK, attributes & ~CODEC_MASK
    is_ordinary = (
        codec <= _CODEC_MAX
        and (flags == 0 or (flags == TRANSACTIONAL_FLAG and producer >= 0))
        and base_offset == 0
        and magic == MAGIC
        and length + LOG_OVERHEAD == end - start
        and 0 < count == last + 1
        and count <= records_max
        and NO_TIMESTAMP <= first_ms <= latest_ms
        and NO_TIMESTAMP <= max_ms <= latest_ms
        and (producer < 0 or (epoch >= 0 and sequence >= 0))
        and (codec or records_fill(buffer, start + HEADER_SIZE, end, count))
    )
    return _new_tuple(kind, fields) if is_ordinary else None


def records_fill(body: Buffer, start: int, end: int, count: int, /) -> bool:
    """Whether `count` records fill `body[start:end]` exactly."""
    if not 0 <= start <= end <= len(body) or not 0 <= count * RECORD_SIZE_MIN <= end - start:
        return False
    if isinstance(body, memoryview):
        body, start, end = bytes(body[start:end]), 0, end - start
    try:
        check_records(body, start, end, count)
    except InvalidRecord:
        return False
    return True


def seek_batch(
    window: Buffer, bytes_left: int, first_last_offset: int, next_offset: int, offset: int, /
) -> tuple[int, int, int] | None:
    """The first batch of `window` that ends at or after `offset`: its position, its size, and the offset after the
    batch before it.

    A size of 0 means that the window ends before that batch. None: the headers are not plausible. The window lies in
    `bytes_left` bytes of batches; `first_last_offset`, unless it is -1, is the last offset of the first one; all
    offsets are `next_offset` or higher.
    """
    position = 0
    while position <= len(window) - HEADER_SIZE:
        base_offset, length, _, magic, _, _, delta, *_ = HEADER_STRUCT.unpack_from(window, position)
        size, last_offset = length + LOG_OVERHEAD, base_offset + delta
        if not (
            magic == MAGIC
            and HEADER_SIZE <= size <= bytes_left - position
            and next_offset <= base_offset
            and 0 <= delta <= OFFSET_MAX - base_offset - 1
            and (position > 0 or first_last_offset in (-1, last_offset))
        ):
            return None
        if last_offset >= offset:
            return position, size, next_offset
        position += size
        next_offset = last_offset + 1
    return position, 0, next_offset


def plain_records(pairs: Sequence[tuple[bytes, bytes | None]], /) -> bytes:
    """Pairs of a key and a value as the body of a batch: no headers, and the batch's own timestamp."""
    pieces: list[bytes] = []
    for index, (key, value) in enumerate(pairs):
        heads, key_size, value_size = _plain_frame(len(key), -1 if value is None else len(value))
        delta = varint(index)
        pieces += (heads[len(delta)], delta, key_size, key, value_size, value or b"", b"\0")
    return b"".join(pieces)


class _PlainFrame(NamedTuple):
    """What stands around the keys and values of given sizes."""

    heads: tuple[bytes, ...]
    """Size, attributes and timestamp, by how many bytes the offset delta has."""
    key_size: bytes
    value_size: bytes


@lru_cache(maxsize=1_024)
def _plain_frame(key_size: int, value_size: int) -> _PlainFrame:
    key_varint, value_varint = varint(key_size), varint(value_size)
    rest = 3 + len(key_varint) + key_size + len(value_varint) + max(value_size, 0)
    heads = tuple(varint(rest + delta_size) + b"\0\0" for delta_size in range(6))
    return _PlainFrame(heads, key_varint, value_varint)
