"""Reads the batches of a segment file: headers only, or whole batches with all checks.

`scan_headers` is for short scans of bytes that are most likely valid. It raises `DamagedBatch` where the bytes cannot
be a batch of this segment: a wrong magic, an impossible length, offsets that decrease.

`scan_batches` reads everything, and continues after damage. It yields the valid batches and, between them, one `Damage`
for each range of bytes that is not a valid batch. Recovery, reads of bytes that were not checked before, and
`barnabas log verify` all use it, so they agree on what is readable.

A batch is valid if
- its header is plausible and its CRC is right;
- its offsets and its leader epoch, which the CRC does not cover, are consistent with its neighbours. A batch that
  follows its predecessor without a gap is valid. After a gap or with a new epoch, it is valid if the next batch can
  follow it; if not, the one of the two that is inconsistent with the rest is damaged. So at the very end of a log, a
  wrong epoch, or a wrong offset after a gap, cannot be detected.

After damage the next batch is searched for byte by byte, as the length in a damaged header may be wrong.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from barnabas.env import File
from barnabas.records.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    NO_LEADER_EPOCH,
    Batch,
    BatchHeader,
    crc_is_valid,
    read_header,
)
from barnabas.wire.errors import CorruptMessage

# One page: it holds many small batches, and of large ones only the header is read.
HEADER_WINDOW_BYTES: Final = 4096
WHOLE_WINDOW_BYTES: Final = 1024 * 1024

RELATIVE_OFFSET_MAX: Final = 2**31 - 1
"""The indexes have 31 bits for an offset's distance from the segment's base offset."""

_MAGIC_BYTE: Final = bytes([MAGIC])
_BATCH_LENGTH_MIN: Final = HEADER_SIZE - LOG_OVERHEAD


class DamagedBatch(CorruptMessage):
    """Bytes that are not a valid batch where one should be."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(f"{path} is damaged at byte {position}: {reason}")
        self.path = path
        self.position = position
        self.reason = reason


class Damage(NamedTuple):
    """A range of bytes in a segment without a valid batch."""

    path: str
    position: int
    size: int
    first_offset: int
    """The first offset that cannot be read."""
    next_offset: int | None
    """The next offset that can be read; None: no valid batch follows in this segment."""
    reason: str

    @property
    def end(self) -> int:
        return self.position + self.size

    def __str__(self) -> str:
        return f"{self.path} is damaged from byte {self.position} to {self.end}: {self.reason}"

    @property
    def consequence(self) -> str:
        """Which offsets cannot be read, and from where on reading continues."""
        if self.next_offset is None:
            return f"nothing in this file can be read from offset {self.first_offset} on"
        offsets = "offset" if self.next_offset == self.first_offset + 1 else f"offsets {self.first_offset} to"
        return f"{offsets} {self.next_offset - 1} cannot be read, the next readable offset is {self.next_offset}"


class PlacedBatch(NamedTuple):
    position: int
    batch: Batch

    @property
    def end(self) -> int:
        return self.position + len(self.batch.data)


def scan_headers(file: File, position: int, end: int, *, next_offset: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each batch in [position, end); a batch with an offset below `next_offset` is damaged."""
    window = b""
    window_start = position
    while position < end:
        at = position - window_start
        if at + HEADER_SIZE > len(window):
            window = file.read_at(position, min(HEADER_WINDOW_BYTES, end - position))
            window_start = position
            at = 0
        header = _parse_header(window[at : at + HEADER_SIZE], end - position)
        if isinstance(header, str):
            raise DamagedBatch(file.path, position, header)
        if header.base_offset < next_offset:
            raise DamagedBatch(file.path, position, _unexpected_offsets(header, next_offset))
        next_offset = header.base_offset + header.last_offset_delta + 1
        yield position, header
        position += header.batch_length + LOG_OVERHEAD


def scan_batches(
    file: File, position: int, end: int, *, next_offset: int, offset_limit: int
) -> Iterator[PlacedBatch | Damage]:
    """All of [position, end): the valid batches, and the damage between them.

    `position` is where a batch or damage begins. Valid offsets are at least `next_offset` and below `offset_limit`.
    """
    return _Scan(file, position, end, next_offset, offset_limit).run()


class _Scan:
    def __init__(self, file: File, position: int, end: int, next_offset: int, offset_limit: int) -> None:
        self._file = file
        self._start = position
        self._end = end
        self._offset_limit = offset_limit
        # After the last valid batch:
        self._valid_end = position
        self._next_offset = next_offset
        self._epoch = NO_LEADER_EPOCH
        self._pending: PlacedBatch | None = None
        """Its CRC is right, but it comes after a gap or has a new epoch: the next batch decides whether it is valid."""
        self._reason = ""
        """What is wrong with the first bytes after the last valid batch; `_pending_reason`: after the pending one."""
        self._pending_reason = ""
        self._window = memoryview(b"")
        self._window_start = position

    def run(self) -> Iterator[PlacedBatch | Damage]:
        position = self._start
        while position < self._end:
            found = self._read_batch(position)
            if isinstance(found, str):
                self._set_reason(found)
                position = self._search(position + 1)
                continue
            header = found.header
            if (
                position == self._valid_end
                and header.base_offset == self._next_offset
                and header.leader_epoch == self._epoch
                and header.last_offset < self._offset_limit
            ):  # the usual case: no gap, and the same epoch
                self._valid_end = position + len(found.data)
                self._next_offset = header.next_offset
                yield PlacedBatch(position, found)
            else:
                yield from self._check_order(PlacedBatch(position, found))
            position += len(found.data)
        if self._pending is not None:
            yield from self._accept(self._pending)
        if self._valid_end < self._end:
            yield self._damage(self._end, None)

    def _check_order(self, found: PlacedBatch) -> Iterator[PlacedBatch | Damage]:
        header = found.batch.header
        pending = self._pending
        if pending is not None:
            before = pending.batch.header
            if _follows(header, before.next_offset, before.leader_epoch):
                yield from self._accept(pending)
            elif _follows(header, self._next_offset + before.last_offset_delta + 1, self._epoch):
                # Without the pending batch everything is consistent: its offsets or its epoch are wrong.
                self._pending = None
                self._set_reason(_unexpected_offsets(before, self._next_offset))
            else:
                self._set_reason(_unexpected_offsets(header, before.next_offset))
                return
        if not _follows(header, self._next_offset, self._epoch):
            self._set_reason(_unexpected_offsets(header, self._next_offset))
        elif header.last_offset >= self._offset_limit:
            limit = self._offset_limit
            self._set_reason(f"offsets {header.base_offset} to {header.last_offset} where all must be below {limit}")
        elif header.base_offset == self._next_offset and header.leader_epoch == self._epoch:
            yield from self._accept(found)
        else:
            self._pending = found

    def _accept(self, valid: PlacedBatch) -> Iterator[PlacedBatch | Damage]:
        header = valid.batch.header
        if self._valid_end < valid.position:
            yield self._damage(valid.position, header.base_offset)
        self._valid_end = valid.end
        self._next_offset = header.next_offset
        self._epoch = max(self._epoch, header.leader_epoch)
        self._pending = None
        self._reason, self._pending_reason = self._pending_reason, ""
        yield valid

    def _set_reason(self, reason: str) -> None:
        if self._pending is None:
            self._reason = self._reason or reason
        else:
            self._pending_reason = self._pending_reason or reason

    def _damage(self, end: int, next_offset: int | None) -> Damage:
        position = self._valid_end
        return Damage(self._file.path, position, end - position, self._next_offset, next_offset, self._reason)

    def _read_batch(self, position: int) -> Batch | str:
        """The batch that begins there, if its CRC is right; else what is wrong."""
        header = _parse_header(self._bytes_at(position, HEADER_SIZE), self._end - position)
        if isinstance(header, str):
            return header
        batch = Batch(header, self._bytes_at(position, header.size))
        if len(batch.data) < header.size or not crc_is_valid(batch):
            return f"the CRC of the batch at offset {header.base_offset} is wrong"
        return batch

    def _search(self, position: int) -> int:
        """The position of the next batch with a right CRC and plausible offsets; the end if there is none."""
        while position < self._end:
            window = self._bytes_at(position, WHOLE_WINDOW_BYTES)
            content = window.tobytes()
            magic = content.find(_MAGIC_BYTE, MAGIC_POSITION)
            while magic >= 0:
                at = magic - MAGIC_POSITION
                if self._is_batch_at(position + at, content[at : at + HEADER_SIZE]):
                    return position + at
                magic = content.find(_MAGIC_BYTE, magic + 1)
            if len(window) < WHOLE_WINDOW_BYTES:  # the end, or the file is shorter than expected
                return self._end
            position += len(window) - HEADER_SIZE
        return self._end

    def _is_batch_at(self, position: int, head: bytes) -> bool:
        header = _parse_header(head, self._end - position)
        return (
            not isinstance(header, str)
            and self._next_offset <= header.base_offset
            and header.last_offset < self._offset_limit
            and not isinstance(self._read_batch(position), str)
        )

    def _bytes_at(self, position: int, size: int) -> memoryview:
        """Fewer bytes at the end of the segment."""
        at = position - self._window_start
        size = min(size, self._end - position)
        if at < 0 or at + size > len(self._window):
            wanted = min(max(WHOLE_WINDOW_BYTES, size), self._end - position)
            self._window = memoryview(self._file.read_at(position, wanted))
            self._window_start, at = position, 0
        return self._window[at : at + size]


def _parse_header(head: bytes | memoryview, bytes_left: int) -> BatchHeader | str:
    """The header; or what is wrong with it."""
    if len(head) < HEADER_SIZE:
        return f"{len(head)} bytes are left, a batch has at least {HEADER_SIZE}"
    header = read_header(head)
    if header.magic != MAGIC:
        return f"magic {header.magic} instead of {MAGIC}"
    if not _BATCH_LENGTH_MIN <= header.batch_length <= bytes_left - LOG_OVERHEAD:
        return f"a batch of {header.size} bytes where {bytes_left} are left"
    if header.base_offset < 0 or header.last_offset_delta < 0:
        return f"impossible offsets {header.base_offset} to {header.last_offset}"
    return header


def _follows(header: BatchHeader, next_offset: int, epoch: int) -> bool:
    """Kafka's logs may have batches without a leader epoch, which may follow any other."""
    return header.base_offset >= next_offset and (
        header.leader_epoch >= epoch or header.leader_epoch == NO_LEADER_EPOCH
    )


def _unexpected_offsets(header: BatchHeader, next_offset: int) -> str:
    return (
        f"offsets {header.base_offset} to {header.last_offset} of epoch {header.leader_epoch} "
        f"where offset {next_offset} was expected"
    )
