"""Finds, checks and selects the batches of a fetch by their headers.

A fetch is a sequence of batches, the last one possibly incomplete. Headers decide, for all batches at once: which
overlap the requested offsets, which are control batches, which belong to aborted transactions, which are older than the
requested timestamps. Batches without requested records are not even decompressed.
"""

from collections import deque
from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from fastcrc.crc32 import iscsi

from barnabas.records.batch import (
    ATTRIBUTES_POSITION,
    CONTROL_FLAG,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    TRANSACTIONAL_FLAG,
    Batch,
    Buffer,
    read_header,
)
from barnabas.records.control import read_marker
from barnabas.spark.arrow.varints import Bools, Ints
from barnabas.wire.errors import CorruptMessage, UnsupportedForMessageFormat

_OFFSET_MAX: Final = (1 << 62) - 1  # no log gets there, and sums with 32-bit deltas stay within 64 bits
_PREFIX: Final = Struct(">qiibI")  # base offset, length, leader epoch, magic, CRC
_HEADER_DTYPE: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("batch_length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)


class Aborted(NamedTuple):
    """An aborted transaction, as named in a Fetch response."""

    producer_id: int
    first_offset: int


class Batches(NamedTuple):
    """One row per batch, in order of offsets."""

    positions: Ints
    ends: Ints
    base_offsets: Ints
    last_offset_deltas: Ints
    attributes: Ints
    base_timestamps: Ints
    max_timestamps: Ints
    producer_ids: Ints
    record_counts: Ints

    def where(self, chosen: Bools | slice) -> "Batches":
        return Batches(*(column[chosen] for column in self))

    @property
    def last_offsets(self) -> Ints:
        return self.base_offsets + self.last_offset_deltas

    def next_offset(self, otherwise: int) -> int:
        """The offset after the last batch."""
        return int(self.last_offsets[-1]) + 1 if len(self.positions) else otherwise


def find_batches(data: Buffer, *, check_crc: bool = True) -> Batches:
    """All complete batches. CorruptMessage for invalid ones, UnsupportedForMessageFormat for older formats."""
    view = memoryview(data)
    size = len(view)
    unpack = _PREFIX.unpack_from
    positions: list[int] = []
    position = 0
    while position + HEADER_SIZE <= size:
        base_offset, length, _, magic, crc = unpack(view, position)
        if magic != MAGIC:
            raise _not_version_2(magic, position)
        if length < HEADER_SIZE - LOG_OVERHEAD:
            raise CorruptMessage(f"the batch at byte {position} has length {length}, less than its header")
        end = position + LOG_OVERHEAD + length
        if end > size:
            break
        if check_crc and iscsi(view[position + ATTRIBUTES_POSITION : end]) != crc:
            raise CorruptMessage(f"the batch at offset {base_offset} does not match its CRC")
        positions.append(position)
        position = end
    if MAGIC_POSITION < size - position < HEADER_SIZE and view[position + MAGIC_POSITION] != MAGIC:
        # Messages of the old formats can be shorter than a header.
        raise _not_version_2(view[position + MAGIC_POSITION], position)
    return _columns(view, np.array(positions, np.int64), position)


def _not_version_2(magic: int, position: int) -> Exception:
    if magic < MAGIC:
        return UnsupportedForMessageFormat(
            f"the batch at byte {position} has message format {magic}, and only format {MAGIC} is supported"
        )
    return CorruptMessage(f"the batch at byte {position} has message format {magic}, which does not exist")


def _columns(view: memoryview, positions: Ints, end: int) -> Batches:
    octets = np.frombuffer(view, np.uint8)
    if len(positions):
        # A header begins at every byte: the stride is one.
        all_headers = np.ndarray((len(octets) - HEADER_SIZE + 1,), f"V{HEADER_SIZE}", octets.data, 0, (1,))
        headers = all_headers[positions].view(_HEADER_DTYPE)
    else:
        headers = np.empty(0, _HEADER_DTYPE)

    def column(name: str) -> Ints:
        return headers[name].astype(np.int64)

    batches = Batches(
        positions=positions,
        ends=np.append(positions[1:], end) if len(positions) else positions,
        base_offsets=column("base_offset"),
        last_offset_deltas=column("last_offset_delta"),
        attributes=column("attributes"),
        base_timestamps=column("base_timestamp"),
        max_timestamps=column("max_timestamp"),
        producer_ids=column("producer_id"),
        record_counts=column("record_count"),
    )
    if (
        (batches.base_offsets < 0).any()
        or (batches.base_offsets > _OFFSET_MAX).any()
        or (batches.last_offset_deltas < 0).any()
        or (batches.base_offsets[1:] <= batches.last_offsets[:-1]).any()
    ):
        raise CorruptMessage("the offsets of the batches are not ascending")
    return batches


def wanted(
    batches: Batches,
    data: Buffer,
    *,
    first_offset: int,
    end_offset: int,
    aborted: Iterable[tuple[int, int]] = (),
    timestamp_ms_min: int | None = None,
) -> Bools:
    """The batches that may have requested records, judged by their headers."""
    chosen: npt.NDArray[np.bool_] = (
        (batches.last_offsets >= first_offset)
        & (batches.base_offsets < end_offset)
        & (batches.attributes & CONTROL_FLAG == 0)
        & (batches.record_counts != 0)
    )
    if timestamp_ms_min is not None:
        chosen &= batches.max_timestamps >= timestamp_ms_min
    transactions = [Aborted(*transaction) for transaction in aborted]
    if transactions:
        chosen &= ~_of_aborted(batches, data, transactions)
    return chosen


def _of_aborted(batches: Batches, data: Buffer, transactions: list[Aborted]) -> Bools:
    """A producer's records are aborted from the transaction's first offset up to the marker that says ABORT.

    The first offset may be before the fetch, which can begin in the middle of a transaction. A producer has one
    transaction at a time, so the markers separate its transactions.
    """
    coming = deque(sorted(transactions, key=lambda transaction: transaction.first_offset))
    now_aborted: set[int] = set()
    found = np.zeros(len(batches.positions), np.bool_)
    rows = zip(batches.last_offsets.tolist(), batches.attributes.tolist(), batches.producer_ids.tolist(), strict=True)
    for index, (last_offset, attributes, producer_id) in enumerate(rows):
        while coming and coming[0].first_offset <= last_offset:
            now_aborted.add(coming.popleft().producer_id)
        if not attributes & TRANSACTIONAL_FLAG or producer_id not in now_aborted:
            continue
        if not attributes & CONTROL_FLAG:
            found[index] = True
            continue
        view = memoryview(data)[int(batches.positions[index]) : int(batches.ends[index])]
        marker = read_marker(Batch(read_header(view), view))
        if marker is not None and not marker.commit:
            now_aborted.discard(producer_id)
    return found
