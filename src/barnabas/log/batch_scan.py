"""Walking the batches of a segment file: by header only, or whole with their CRC.

Both walks stop at the end they are given and raise `DamagedBatch` where the bytes cannot be a batch of this segment:
a wrong magic, an impossible length, offsets that go back. What a damaged batch means is the caller's matter: the end
of the log when an unflushed tail is recovered, an error when synced data is read.
"""

from collections.abc import Iterator

from barnabas.env import File
from barnabas.records.batch import HEADER_SIZE, LOG_OVERHEAD, MAGIC, Batch, BatchHeader, crc_is_valid, read_header
from barnabas.wire.errors import CorruptMessage

# Small batches come many to a window, of large ones only the header is read: one page serves both.
HEADER_WINDOW_BYTES = 4096
WHOLE_WINDOW_BYTES = 1024 * 1024


class DamagedBatch(CorruptMessage):
    def __init__(self, path: str, position: int, reason: str, *, next_position: int | None = None) -> None:
        super().__init__(f"{path} is damaged at byte {position}: {reason}")
        self.next_position = next_position
        """Where the batch after the damaged one begins, if that is known."""
        self.path = path
        self.position = position
        self.reason = reason


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
        header = _read_checked(window, at, file.path, position, end, next_offset)
        next_offset = header.base_offset + header.last_offset_delta + 1
        yield position, header
        position += header.batch_length + LOG_OVERHEAD


def scan_batches(file: File, position: int, end: int, *, next_offset: int = 0) -> Iterator[tuple[int, Batch]]:
    """(position, batch) of each batch in [position, end), its CRC checked."""
    window = memoryview(b"")
    window_start = position
    while position < end:
        at = position - window_start
        if at + HEADER_SIZE > len(window):
            window = memoryview(file.read_at(position, min(WHOLE_WINDOW_BYTES, end - position)))
            window_start, at = position, 0
        header = _read_checked(window, at, file.path, position, end, next_offset)
        size = header.size
        if at + size > len(window):
            window = memoryview(file.read_at(position, min(max(WHOLE_WINDOW_BYTES, size), end - position)))
            window_start, at = position, 0
        batch = Batch(header, window[at : at + size])
        if len(batch.data) < size or not crc_is_valid(batch):
            reason = f"the CRC of the batch at offset {header.base_offset} is wrong"
            raise DamagedBatch(file.path, position, reason, next_position=position + size)
        next_offset = header.next_offset
        yield position, batch
        position += size


def _read_checked(
    window: bytes | memoryview, at: int, path: str, position: int, end: int, next_offset: int
) -> BatchHeader:
    if len(window) - at < HEADER_SIZE:
        raise DamagedBatch(path, position, f"{len(window) - at} bytes are left, too few for a batch")
    header = read_header(window, at)
    if header.magic != MAGIC:
        raise DamagedBatch(path, position, f"magic {header.magic} is none of a batch")
    if not HEADER_SIZE - LOG_OVERHEAD <= header.batch_length <= end - position - LOG_OVERHEAD:
        raise DamagedBatch(path, position, f"a batch of {header.size} bytes, {end - position} are left")
    if header.base_offset < next_offset or header.last_offset_delta < 0:
        raise DamagedBatch(
            path,
            position,
            f"offsets {header.base_offset} to {header.last_offset} where {next_offset} is the next",
        )
    return header
