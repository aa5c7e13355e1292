"""Reading the batches of a segment file: by header only, or whole, with everything checked.

`scan_headers` is for short walks through bytes that are most likely valid. It raises `DamagedBatch` where the bytes
cannot be a batch of this segment: a wrong magic, an impossible length, offsets that go back.

`scan_batches` reads everything, and goes on after damage. It yields the valid batches and, between them, one `Damage`
for each run of bytes that is none. Everybody who must know what is readable uses it: recovery, reads of bytes that
were not checked before, `barnabas log verify`. So they all agree.

What makes a batch valid:
- its header is possible and its CRC is right;
- its offsets and its leader epoch, which the CRC does not cover, fit those of its neighbours. A batch that follows its
  predecessor without a gap is right. Any other is right if its successor fits behind it; if not, whichever of the two
  does not fit the rest is damaged. So a batch at the very end of a log may have a wrong epoch, or after a gap a wrong
  offset, and nobody can tell.

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

# Small batches come many to a window, of large ones only the header is read: one page serves both.
HEADER_WINDOW_BYTES: Final = 4096
WHOLE_WINDOW_BYTES: Final = 1024 * 1024

RELATIVE_OFFSET_MAX: Final = 2**31 - 1
"""The indexes have 31 bits for an offset's distance from the segment's base offset."""

_MAGIC_BYTE: Final = bytes([MAGIC])
_BATCH_LENGTH_MIN: Final = HEADER_SIZE - LOG_OVERHEAD


class DamagedBatch(CorruptMessage):
    """Bytes that should be a batch and are not."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(f"{path} is damaged at byte {position}: {reason}")
        self.path = path
        self.position = position
        self.reason = reason


class Damage(NamedTuple):
    """A run of bytes in a segment that holds no valid batch."""

    path: str
    position: int
    size: int
    first_offset: int
    """The first offset that cannot be read."""
    next_offset: int | None
    """The first one after it that can; None: nothing valid follows in this segment."""
    reason: str

    @property
    def end(self) -> int:
        return self.position + self.size

    def __str__(self) -> str:
        return f"{self.path} is damaged from byte {self.position} to {self.end}: {self.reason}"

    @property
    def consequence(self) -> str:
        """What readers can still have."""
        if self.next_offset is None:
            return f"from offset {self.first_offset} on, nothing in this file can be read"
        offsets = "offset" if self.next_offset == self.first_offset + 1 else f"offsets {self.first_offset} to"
        return f"{offsets} {self.next_offset - 1} cannot be read, {self.next_offset} is the next that can"


class PlacedBatch(NamedTuple):
    position: int
    batch: Batch

    @property
    def end(self) -> int:
        return self.position + len(self.batch.data)


def scan_headers(file: File, position: int, end: int, *, next_offset: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each batch in [position, end); no batch may hold an offset below `next_offset`."""
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
    """All of [position, end): valid batches and what is damaged between them.

    A batch or damage begins at `position`. Offsets are from `next_offset` on and below `offset_limit`.
    """
    return _Scan(file, position, end, next_offset, offset_limit).run()


class _Scan:
    def __init__(self, file: File, position: int, end: int, next_offset: int, offset_limit: int) -> None:
        self._file = file
        self._start = position
        self._end = end
        self._offset_limit = offset_limit
        # Of the last batch that was found valid:
        self._valid_end = position
        self._next_offset = next_offset
        self._epoch = NO_LEADER_EPOCH
        self._pending: PlacedBatch | None = None
        """Intact, but there is a gap or a new epoch before it: the batch that follows decides."""
        self._reason = ""
        """What is wrong with the first bytes behind the last valid batch, and below: behind the one that is pending."""
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
            ):  # as nearly always: it follows the last one as closely as can be
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
                # Without the pending batch everything fits: it is the one with a wrong place.
                self._pending = None
                self._set_reason(_unexpected_offsets(before, self._next_offset))
            else:
                self._set_reason(_unexpected_offsets(header, before.next_offset))
                return
        if not _follows(header, self._next_offset, self._epoch):
            self._set_reason(_unexpected_offsets(header, self._next_offset))
        elif header.last_offset >= self._offset_limit:
            limit = self._offset_limit
            self._set_reason(f"offsets {header.base_offset} to {header.last_offset} where it should end before {limit}")
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
        """The batch that begins there, its CRC checked; or why there is none."""
        header = _parse_header(self._bytes_at(position, HEADER_SIZE), self._end - position)
        if isinstance(header, str):
            return header
        batch = Batch(header, self._bytes_at(position, header.size))
        if len(batch.data) < header.size or not crc_is_valid(batch):
            return f"the CRC of the batch at offset {header.base_offset} is wrong"
        return batch

    def _search(self, position: int) -> int:
        """Where the next batch begins whose CRC is right and whose offsets are possible; or the end."""
        while position < self._end:
            window = self._bytes_at(position, WHOLE_WINDOW_BYTES)
            content = window.tobytes()
            magic = content.find(_MAGIC_BYTE, MAGIC_POSITION)
            while magic >= 0:
                at = magic - MAGIC_POSITION
                if self._is_batch_at(position + at, content[at : at + HEADER_SIZE]):
                    return position + at
                magic = content.find(_MAGIC_BYTE, magic + 1)
            if len(window) < WHOLE_WINDOW_BYTES:  # that was the end, or the file is shorter than it should be
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
        """Fewer where the segment ends."""
        at = position - self._window_start
        size = min(size, self._end - position)
        if at < 0 or at + size > len(self._window):
            wanted = min(max(WHOLE_WINDOW_BYTES, size), self._end - position)
            self._window = memoryview(self._file.read_at(position, wanted))
            self._window_start, at = position, 0
        return self._window[at : at + size]


def _parse_header(head: bytes | memoryview, bytes_left: int) -> BatchHeader | str:
    """The header, or why it is none."""
    if len(head) < HEADER_SIZE:
        return f"{len(head)} bytes are left, too few for a batch"
    header = read_header(head)
    if header.magic != MAGIC:
        return f"magic {header.magic} is none of a batch"
    if not _BATCH_LENGTH_MIN <= header.batch_length <= bytes_left - LOG_OVERHEAD:
        return f"a batch of {header.size} bytes, {bytes_left} are left"
    if header.base_offset < 0 or header.last_offset_delta < 0:
        return f"offsets {header.base_offset} to {header.last_offset} cannot be"
    return header


def _follows(header: BatchHeader, next_offset: int, epoch: int) -> bool:
    """A batch that does not know its epoch, as Kafka has some, is of any."""
    return header.base_offset >= next_offset and (
        header.leader_epoch >= epoch or header.leader_epoch == NO_LEADER_EPOCH
    )


def _unexpected_offsets(header: BatchHeader, next_offset: int) -> str:
    return (
        f"offsets {header.base_offset} to {header.last_offset} of epoch {header.leader_epoch} "
        f"where {next_offset} is the next"
    )
